// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package redis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// causeMark precedes warnings in the log of a server.
const causeMark = " # "

// Instance is the data of one Redis server.
type Instance struct {
	host.Folder
	secret string
}

// NewInstance returns the instance in a folder. See host.Folder for the first arguments; secret is the password of the cloud's
// own user.
func NewInstance(folder string, owner host.Account, secret string) *Instance {
	return &Instance{secret: secret, Folder: host.Folder{
		Path: folder, Owner: owner, End: host.Signals{serverProgram: unix.SIGTERM}, Discard: host.Signals{serverProgram: unix.SIGKILL},
	}}
}

// Server is a running Redis server.
type Server struct {
	*host.Server
	instance *Instance
}

// Running returns the server that runs on the data, nil if there is none. It may not serve clients yet: see WaitReady.
func (i *Instance) Running(ctx context.Context) (*Server, error) {
	c, err := dial(ctx, i.Data(), i.secret)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ECONNREFUSED) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer c.close()
	status, err := c.status()
	if err != nil {
		return nil, err
	}
	p, err := host.Open(status.pid)
	if errors.Is(err, host.ErrEnded) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := c.do("PING"); err != nil && !isRefusal(err) { // It has ended, and its pid may have been reused.
		p.Close()
		return nil, nil
	}
	return &Server{Server: i.Adopt(p), instance: i}, nil
}

// Start starts a server and returns before it is ready. It first ends every other server process in the folder.
func (i *Instance) Start(ctx context.Context, with Installation, settings Settings) (*Server, error) {
	if err := i.Clear(ctx); err != nil {
		return nil, err
	}
	exists, err := i.HasData()
	if err == nil && !exists {
		err = i.CreateData(func(string) error { return nil })
	}
	if err != nil {
		return nil, fmt.Errorf("creating data folder: %w", err)
	}
	config := filepath.Join(i.Path, "redis.conf")
	if err := i.writeConfig(config, settings); err != nil {
		return nil, fmt.Errorf("writing configuration: %w", err)
	}
	cmd := exec.Command(with.Program, config)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"} // That of this process may contain secrets.
	server, err := i.Folder.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &Server{Server: server, instance: i}, nil
}

func (i *Instance) writeConfig(path string, settings Settings) error {
	owner, err := i.DataOwner()
	if err != nil {
		return err
	}
	unfinished := path + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // Left by a crash, it may belong to the server's account already.
	}
	if err := os.WriteFile(unfinished, []byte(settings.config(i.Data(), i.secret)), 0o600); err != nil {
		return err
	}
	if err := owner.Own(unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, path)
}

// WaitReady returns the version, major and minor, and the port of the server as soon as it serves clients. It fails when the
// server ends, with the cause in its log, or when ctx ends.
func (s *Server) WaitReady(ctx context.Context) (version string, port int, err error) {
	err = s.AwaitReady(ctx, func(ctx context.Context) bool {
		got, err := s.status(ctx)
		version, port = got.version, got.port
		return err == nil && !got.loading && got.pid == s.Pid()
	}, causeMark)
	return version, port, err
}

func (s *Server) status(ctx context.Context) (status, error) {
	c, err := dial(ctx, s.instance.Data(), s.instance.secret)
	if err != nil {
		return status{}, err
	}
	defer c.close()
	return c.status()
}

// Apply applies the settings, except the port, to the running server. Connections stay open, also those that were opened with
// another password. Errors contain no password.
func (s *Server) Apply(ctx context.Context, settings Settings) error {
	c, err := dial(ctx, s.instance.Data(), s.instance.secret)
	if err != nil {
		return err
	}
	defer c.close()
	for _, command := range [][]string{
		{"CONFIG", "SET", "maxmemory", settings.memory(), "maxmemory-policy", settings.EvictionPolicy},
		append([]string{"ACL", "SETUSER", Username}, settings.clientRules()...),
	} {
		if _, err := c.do(command...); err != nil {
			return fmt.Errorf("changing settings: %w", err)
		}
	}
	return nil
}

// Stop ends the server in an orderly way: it writes everything to disk. After a timeout the server is killed, which loses no
// data either.
func (s *Server) Stop(ctx context.Context) error { return s.Shutdown(ctx, unix.SIGTERM) }
