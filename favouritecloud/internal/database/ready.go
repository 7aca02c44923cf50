// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
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

// readIn reads a small file of a folder that the superuser of the database can write to: it follows no link out of it.
func readIn(folder, name string) (string, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return "", err
	}
	defer root.Close() // only read
	content, err := root.ReadFile(name)
	return string(content), err
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

const (
	pingTimeout        = 2 * time.Second
	tooManyConnections = "53300" // SQLSTATE
)

// acceptsConnections connects as a client does, up to the request for authentication: a failed authentication would be logged.
// A server without a free connection accepts connections; one that is starting, stopping or recovering does not.
func acceptsConnections(ctx context.Context, port int) bool {
	dialer := net.Dialer{Timeout: pingTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", host.Address(port))
	if err != nil {
		return false
	}
	defer conn.Close() // The session has not begun.
	if err := conn.SetDeadline(time.Now().Add(pingTimeout)); err != nil {
		return false
	}
	frontend := pgproto3.NewFrontend(conn, conn)
	frontend.SetMaxBodyLen(4 << 10) // Another program may listen there.
	frontend.Send(&pgproto3.StartupMessage{
		ProtocolVersion: pgproto3.ProtocolVersion30, Parameters: map[string]string{"user": username, "database": "postgres"},
	})
	if err := frontend.Flush(); err != nil {
		return false
	}
	message, err := frontend.Receive()
	if err != nil {
		return false
	}
	switch m := message.(type) {
	case pgproto3.AuthenticationResponseMessage:
		return true
	case *pgproto3.ErrorResponse:
		return m.Code == tooManyConnections
	default:
		return false
	}
}
