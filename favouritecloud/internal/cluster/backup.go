// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

const (
	stopPoll    = 5 * time.Millisecond
	stopTimeout = 10 * time.Second
)

// Backup copies the data while the server is stopped for a moment, as in a terminal with Ctrl-Z: the copy is what a kill would have left,
// from which the server recovers. A cloud that is killed meanwhile leaves it stopped until Find, which the next one begins with.
func (d *driver) Backup(ctx context.Context, r record, target string) (err error) {
	server, err := d.Find(ctx, r)
	if err != nil {
		return err
	}
	defer server.Close()
	if err := server.Signal(unix.SIGSTOP); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Signal(unix.SIGCONT)) }()
	if err := awaitStop(ctx, server.Process); err != nil {
		return err
	}
	return d.copyData(target)
}

func awaitStop(ctx context.Context, p *host.Process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stopTimeout, fmt.Errorf("the server has not stopped after %s", stopTimeout))
	defer cancel()
	for {
		stopped, err := p.IsStopped()
		if err != nil || stopped {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(stopPoll):
		}
	}
}

// identityFile says which folder the data is of: a server does not start on what says that it is a copy.
const identityFile = "identity"

// copyData copies the data into an empty folder. It follows no link out of the data, whose account can write there.
func (d *driver) copyData(target string) error {
	root, err := os.OpenRoot(d.Data())
	if err != nil {
		return err
	}
	defer root.Close() // only read
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		path := filepath.Join(target, name)
		switch {
		case err != nil:
			return fmt.Errorf("copying data: %w", err)
		case entry.IsDir():
			return errors.Join(os.MkdirAll(path, 0o700), d.Owner.Own(path))
		case !entry.Type().IsRegular(), name == identityFile, name == lockFile:
			return nil
		}
		return errors.Join(copyFile(root, name, path), d.Owner.Own(path))
	})
}

func copyFile(root *os.Root, name, path string) error {
	from, err := root.Open(name)
	if err != nil {
		return fmt.Errorf("copying data: %w", err)
	}
	defer from.Close() // only read
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copying data: %w", err)
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}
