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
	"strings"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/account"
	"github.com/bowline-dev/bowline/favouritecloud/internal/process"
	"github.com/bowline-dev/bowline/favouritecloud/internal/serverlog"
)

// Instance is a folder that holds the data of one Redis server.
type Instance struct {
	folder string
	owner  account.Account
	secret string
}

// NewInstance returns the instance in a folder, which need not exist yet. folder must be absolute and free of symbolic
// links. owner is who owns the data of a server that is yet to be started, secret the password of the cloud's own user.
func NewInstance(folder string, owner account.Account, secret string) *Instance {
	return &Instance{folder: folder, owner: owner, secret: secret}
}

func (i *Instance) data() string   { return filepath.Join(i.folder, "data") }
func (i *Instance) log() string    { return filepath.Join(i.folder, "server.log") }
func (i *Instance) config() string { return filepath.Join(i.folder, "redis.conf") }

// Running returns the server that runs on the data, nil if there is none. Whether it serves clients is another question: see
// WaitReady.
func (i *Instance) Running(ctx context.Context) (*Server, error) {
	c, err := dial(ctx, i.data(), i.secret)
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
	p, err := process.Open(status.pid)
	if errors.Is(err, process.ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if _, err := c.do("PING"); err != nil && !isRefusal(err) { // It has ended, and its pid may be another's by now.
		p.Close()
		return nil, nil
	}
	return &Server{Process: p, instance: i, logStart: serverlog.Size(i.log())}, nil
}

// Start starts a server and returns before it is ready. Whatever else runs in the folder is ended first.
func (i *Instance) Start(ctx context.Context, with Installation, settings Settings) (*Server, error) {
	if err := i.Clear(ctx); err != nil {
		return nil, err
	}
	if err := i.makeData(); err != nil {
		return nil, fmt.Errorf("making data folder: %w", err)
	}
	owner, err := account.OwnerOf(i.data())
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	if err := i.writeConfig(owner, settings); err != nil {
		return nil, fmt.Errorf("writing configuration: %w", err)
	}
	log, logStart, err := serverlog.Open(i.log())
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	defer log.Close() //nolint:errcheck // The server writes it, not we.
	cmd := exec.Command(with.Program, i.config())
	cmd.Dir, cmd.SysProcAttr = i.folder, owner.Attributes()
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "LC_ALL=C", "TZ=UTC"} // Our own environment may hold secrets.
	cmd.Stdout, cmd.Stderr = log, log
	p, err := process.Start(cmd)
	if err != nil {
		return nil, fmt.Errorf("starting server: %w", err)
	}
	return &Server{Process: p, instance: i, logStart: logStart}, nil
}

// makeData makes the data folder if there is none. It appears with its owner, so that a server never runs as another.
func (i *Instance) makeData() error {
	if _, err := os.Stat(i.data()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(i.folder, 0o711); err != nil {
		return err
	}
	if err := os.Chmod(i.folder, 0o711); err != nil { // The umask may have taken away the way in.
		return err
	}
	unfinished := i.data() + ".new"
	if err := os.MkdirAll(unfinished, 0o700); err != nil {
		return err
	}
	if err := i.owner.Own(unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, i.data())
}

func (i *Instance) writeConfig(owner account.Account, settings Settings) error {
	unfinished := i.config() + ".new"
	if err := os.Remove(unfinished); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // Left by a crash, it may be the server's already.
	}
	if err := os.WriteFile(unfinished, []byte(settings.config(i.data(), i.secret)), 0o600); err != nil {
		return err
	}
	if err := owner.Own(unfinished); err != nil {
		return err
	}
	return os.Rename(unfinished, i.config())
}

// Clear ends every Redis process that works in the folder. The data survives.
func (i *Instance) Clear(ctx context.Context) error {
	return process.EndIn(ctx, i.folder, map[string]unix.Signal{serverProgram: unix.SIGTERM})
}

// Remove ends whatever runs in the folder and deletes it.
func (i *Instance) Remove(ctx context.Context) error {
	if err := process.EndIn(ctx, i.folder, map[string]unix.Signal{serverProgram: unix.SIGKILL}); err != nil {
		return err
	}
	if err := os.RemoveAll(i.folder); err != nil {
		return fmt.Errorf("removing data: %w", err)
	}
	return nil
}

// lastLine returns what a server said at last that looks like a cause.
func lastLine(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for n := len(lines) - 1; n >= 0; n-- {
		if _, cause, ok := strings.Cut(lines[n], " # "); ok { // The mark of warnings.
			return strings.TrimSpace(cause)
		}
	}
	return strings.TrimSpace(lines[len(lines)-1])
}
