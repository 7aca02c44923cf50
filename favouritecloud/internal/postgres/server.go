// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/account"
	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
	"github.com/bowline-dev/bowline/favouritecloud/internal/process"
	"github.com/bowline-dev/bowline/favouritecloud/internal/serverlog"
)

const (
	// maxStartSkew is how much the two records of a server's start may differ: one is rounded, one is written a
	// moment later.
	maxStartSkew = 10 * time.Second
	// readyPoll is the pause between two looks at a server that starts.
	readyPoll = 25 * time.Millisecond
)

// Settings are what a server is started with.
type Settings struct {
	// Port is the TCP port on ports.Host.
	Port int
	// MaxConnections is the number of connections that the server allows.
	MaxConnections int
}

func (s Settings) args() []string {
	return []string{
		"-c", "port=" + strconv.Itoa(s.Port),
		"-c", "max_connections=" + strconv.Itoa(s.MaxConnections),
		"-c", "listen_addresses=" + ports.Host,
		"-c", "unix_socket_directories=",
		"-c", "shared_buffers=16MB",
		"-c", "jit=off",
	}
}

// settingsFrom reads back what args wrote.
func settingsFrom(args []string) Settings {
	var s Settings
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		n, err := strconv.Atoi(value)
		if err != nil {
			continue
		}
		switch name {
		case "port":
			s.Port = n
		case "max_connections":
			s.MaxConnections = n
		}
	}
	return s
}

// Server is a running PostgreSQL server.
type Server struct {
	*process.Process // Close leaves the server running

	cluster  *Cluster
	settings Settings
	logStart int64 // where in the log begins what happened since we know the server
}

// Settings returns what the server was started with.
func (s *Server) Settings() Settings { return s.settings }

// Running returns the server that runs on the data, nil if there is none. Whether it accepts connections is another
// question: see WaitReady.
func (c *Cluster) Running() (*Server, error) {
	file, err := readPidFile(c.data())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUnfinished) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := process.Open(file.pid)
	if errors.Is(err, process.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := p.Inspect()
	if err != nil || !c.isServer(info, file) {
		p.Close()
		if err != nil && !errors.Is(err, process.ErrGone) {
			return nil, err
		}
		return nil, nil
	}
	start := serverlog.Size(c.log()) // What it said before is not about what happens now.
	return &Server{Process: p, cluster: c, settings: settingsFrom(info.Args), logStart: start}, nil
}

// isServer distrusts the pid file: after a crash of the machine its pid may belong to anybody, also to a server of
// another folder.
func (c *Cluster) isServer(info process.Info, file pidFile) bool {
	return info.Command == serverProgram &&
		slices.Contains(info.Args, c.data()) &&
		info.Started.Sub(file.started).Abs() <= maxStartSkew
}

// Start starts a server and returns before it is ready. Whatever else runs in the folder is ended first.
func (c *Cluster) Start(ctx context.Context, with Installation, settings Settings) (*Server, error) {
	if err := c.Clear(ctx); err != nil {
		return nil, err
	}
	// A server that finds this file believes its pid, whoever has that now, and refuses to start. That no process of
	// this folder is left, its own check of shared memory verifies too.
	if err := os.Remove(filepath.Join(c.data(), pidFileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("starting server: removing pid file of the one before: %w", err)
	}
	owner, err := account.OwnerOf(c.data())
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	log, logStart, err := serverlog.Open(c.log())
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	defer log.Close() //nolint:errcheck // The server writes it, not we.
	cmd := exec.Command(filepath.Join(with.BinDir, serverProgram), append([]string{"-D", c.data()}, settings.args()...)...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = c.folder, environment(with), owner.Attributes()
	cmd.Stdout, cmd.Stderr = log, log
	p, err := process.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	return &Server{Process: p, cluster: c, settings: settings, logStart: logStart}, nil
}

// WaitReady returns nil as soon as the server accepts connections. It fails when the server ends, with the reason that
// it logged, or when ctx does.
func (s *Server) WaitReady(ctx context.Context) error {
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		if s.isReady(ctx) {
			return nil
		}
		select {
		case <-s.Exited():
			return fmt.Errorf("server ended while starting: %s", s.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("waiting for server to accept connections: %w", ctx.Err())
		case <-tick.C:
		}
	}
}

func (s *Server) isReady(ctx context.Context) bool {
	file, err := readPidFile(s.cluster.data())
	if err != nil || file.pid != s.Pid() || !file.ready {
		return false // Another program may hold the port: only the server's own word counts.
	}
	return acceptsConnections(ctx, s.settings.Port)
}

// lastWords returns the last cause in the log since we know the server.
func (s *Server) lastWords() string { return lastLine(serverlog.Since(s.cluster.log(), s.logStart)) }

// Stop ends the server in an orderly way: clients are disconnected, everything is written back. If that takes too long
// it is ended as in a crash, which loses nothing either but makes the next start slower.
func (s *Server) Stop(ctx context.Context) error {
	return s.End(ctx, unix.SIGINT, s.cluster.Clear)
}
