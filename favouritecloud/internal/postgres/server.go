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

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// maxStartSkew is the largest difference between the start time of /proc and that of the pid file: one is rounded, the other
// is written a moment later.
const maxStartSkew = 10 * time.Second

// Settings are the settings that a server starts with.
type Settings struct {
	// Port is the TCP port on host.Loopback.
	Port int
	// MaxConnections is the number of connections that the server allows.
	MaxConnections int
}

func (s Settings) args() []string {
	return []string{
		"-c", "port=" + strconv.Itoa(s.Port),
		"-c", "max_connections=" + strconv.Itoa(s.MaxConnections),
		"-c", "listen_addresses=" + host.Loopback,
		"-c", "unix_socket_directories=",
		"-c", "shared_buffers=16MB",
		"-c", "jit=off",
	}
}

// settingsFrom parses the output of args.
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
	*host.Server
	// Settings are those that the server was started with.
	Settings Settings

	cluster *Cluster
}

// Running returns the server that runs on the data, nil if there is none. It may not accept connections yet: see WaitReady.
func (c *Cluster) Running() (*Server, error) {
	file, err := readPidFile(c.Data())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errUnfinished) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := host.Open(file.pid)
	if errors.Is(err, host.ErrEnded) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := p.Inspect()
	if err != nil || !c.isServer(info, file) {
		p.Close()
		if err != nil && !errors.Is(err, host.ErrEnded) {
			return nil, err
		}
		return nil, nil
	}
	return &Server{Server: c.Adopt(p), Settings: settingsFrom(info.Args), cluster: c}, nil
}

// isServer reports whether the process is the server of this folder. The pid file does not prove that: after a crash of the
// machine its pid may belong to any process, also to the server of another folder.
func (c *Cluster) isServer(info host.Info, file pidFile) bool {
	return info.Command == serverProgram &&
		slices.Contains(info.Args, c.Data()) &&
		info.Started.Sub(file.started).Abs() <= maxStartSkew
}

// Start starts a server and returns before it is ready. It first ends every other server process in the folder.
func (c *Cluster) Start(ctx context.Context, with Installation, settings Settings) (*Server, error) {
	if err := c.Clear(ctx); err != nil {
		return nil, err
	}
	// A server refuses to start while the pid in this file exists, whatever process has it now. Its own check of shared memory
	// still detects a process of this folder.
	if err := os.Remove(filepath.Join(c.Data(), pidFileName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("starting server: removing the previous pid file: %w", err)
	}
	cmd := exec.Command(filepath.Join(with.BinDir, serverProgram), append([]string{"-D", c.Data()}, settings.args()...)...)
	cmd.Env = environment(with)
	server, err := c.Folder.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &Server{Server: server, Settings: settings, cluster: c}, nil
}

// WaitReady returns nil as soon as the server accepts connections. It fails when the server ends, with the cause in its log, or
// when ctx ends.
func (s *Server) WaitReady(ctx context.Context) error {
	return s.AwaitReady(ctx, s.isReady, causeMarks()...)
}

func (s *Server) isReady(ctx context.Context) bool {
	file, err := readPidFile(s.cluster.Data())
	if err != nil || file.pid != s.Pid() || !file.ready {
		return false // Another program may listen on the port.
	}
	return acceptsConnections(ctx, s.Settings.Port)
}

// Stop ends the server in an orderly way: it disconnects clients and writes everything to disk. After a timeout the server is
// ended as in a crash, which loses no data but makes the next start slower.
func (s *Server) Stop(ctx context.Context) error { return s.Shutdown(ctx, unix.SIGINT) }
