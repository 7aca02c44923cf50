// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	dumpName      = "dump.rdb"
	appendFolder  = "appendonlydir"
	appendBase    = "appendonly.aof.1.base.rdb"
	appendFirst   = "appendonly.aof.1.incr.aof"
	appendIndex   = appendFolder + "/appendonly.aof.manifest"
	dumpInterval  = 50 * time.Millisecond
	dumpTimeout   = 10 * time.Minute // of a dump, also one that begins after another ends
	dumpInProcess = "rdb_bgsave_in_progress:1"
)

// Backup lets the server dump its data, as at the moment of the request, and makes the dump the base of an append-only file: with
// appendonly, Redis loads no other.
func (d *driver) Backup(ctx context.Context, r record, target string) error {
	dump := filepath.Join(d.Data(), dumpName)
	if err := os.Remove(dump); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, dumpTimeout, fmt.Errorf("the server has not dumped its data after %s", dumpTimeout))
	defer cancel()
	if _, err := d.ask(ctx, r, "BGSAVE", "SCHEDULE"); err != nil {
		return fmt.Errorf("dumping data: %w", err)
	}
	for finished := false; !finished; {
		select {
		case <-time.After(dumpInterval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		info, err := d.ask(ctx, r, "INFO", "persistence")
		if err != nil {
			return err
		}
		if strings.Contains(info, "rdb_last_bgsave_status:err") {
			return errors.New("the server cannot dump its data: see its log, and whether the disk is full")
		}
		_, err = os.Lstat(dump) // Redis renames a complete dump to this name.
		finished = err == nil && !strings.Contains(info, dumpInProcess)
	}
	return d.move(dumpName, filepath.Base(target))
}

// move makes the dump the data of the copy. It follows no link out of the folder of the server, whose account can write below it.
func (d *driver) move(dump, target string) error {
	root, err := os.OpenRoot(d.Path)
	if err != nil {
		return err
	}
	defer root.Close() // only read
	folder := filepath.Join(target, appendFolder)
	return errors.Join(root.Mkdir(folder, 0o700), root.Rename(filepath.Join(filepath.Base(d.Data()), dump), filepath.Join(folder, appendBase)),
		root.WriteFile(filepath.Join(target, appendIndex), []byte("file "+appendBase+" seq 1 type b\n"), 0o600))
}

// ask sends one command as the cloud's own user.
func (d *driver) ask(ctx context.Context, r record, command ...string) (string, error) {
	c, err := dial(ctx, d.Data(), controlUser, r.Spec.Secret)
	if err != nil {
		return "", err
	}
	defer c.close()
	return c.do(command...)
}
