// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// errUnfinished reports a pid file that a starting server has not completed yet.
var errUnfinished = errors.New("postmaster.pid is unfinished")

const pidFileName = "postmaster.pid"

// pidFile is the content of postmaster.pid, a line for each of: pid, data folder, start time, port, socket folder, address,
// shared memory, state.
type pidFile struct {
	pid     int
	started time.Time
	ready   bool
}

func readPidFile(data string) (pidFile, error) {
	content, err := readIn(data, pidFileName)
	if err != nil {
		return pidFile{}, fmt.Errorf("reading postmaster.pid: %w", err)
	}
	return parsePidFile(content)
}

func parsePidFile(content string) (pidFile, error) {
	const pidLine, startLine, stateLine = 0, 2, 7
	lines := strings.Split(content, "\n")
	if len(lines) <= startLine {
		return pidFile{}, errUnfinished
	}
	pid, pidErr := strconv.Atoi(strings.TrimSpace(lines[pidLine]))
	started, startErr := strconv.ParseInt(strings.TrimSpace(lines[startLine]), 10, 64)
	if pidErr != nil || startErr != nil || pid <= 0 {
		return pidFile{}, errUnfinished
	}
	return pidFile{
		pid:     pid,
		started: time.Unix(started, 0),
		ready:   len(lines) > stateLine && strings.TrimSpace(lines[stateLine]) == "ready",
	}, nil
}
