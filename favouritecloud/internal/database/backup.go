// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

const backupProgram = "pg_basebackup"

// Backup copies the data of the running server with PostgreSQL's own program. The copy has the state at the end of the copying.
func (d *driver) Backup(ctx context.Context, r record, target string) error {
	server, err := d.Find(ctx, r)
	if err != nil {
		return err
	}
	server.Close()
	installed, err := d.Installed(ctx)
	if err != nil {
		return err
	}
	major, err := d.major()
	if err != nil {
		return err
	}
	program, err := choose(installed, major)
	if err != nil {
		return err
	}
	guard, err := d.keepLog(ctx, server)
	if err != nil {
		return err
	}
	defer guard.Close(context.WithoutCancel(ctx))
	return d.copyTo(ctx, program, server, target)
}

// keepLog makes the server keep its log until the session is closed. The slots of PostgreSQL's own program can be invalidated by a
// checkpoint at the moment of their creation, and each creation and deletion of a database is a checkpoint.
func (d *driver) keepLog(ctx context.Context, s *host.Server) (*pgconn.PgConn, error) {
	session, err := d.administer(ctx, s)
	if err != nil {
		return nil, err
	}
	const slot = "select pg_create_physical_replication_slot('bowline_backup_' || pg_backend_pid(), true, true)"
	for _, statement := range []string{slot, "checkpoint", "select 1"} { // an invalidated slot ends its session
		if err := session.Exec(ctx, statement).Close(); err != nil {
			return nil, errors.Join(fmt.Errorf("keeping the log of the server: %w", err), session.Close(context.WithoutCancel(ctx)))
		}
	}
	return session, nil
}

func (d *driver) copyTo(ctx context.Context, program host.Program, s *host.Server, target string) error {
	folder, err := d.openSocketFolder(s)
	if err != nil {
		return err
	}
	defer folder.Close() // only read
	const inherited = 3  // the number of the folder in the program
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(program.Path), backupProgram), "--pgdata="+target,
		"--host="+host.ShortPath(inherited), "--port="+strconv.Itoa(setting(s, "port")), "--username="+username, "--no-password",
		"--checkpoint=fast", "--wal-method=stream", "--no-slot", "--no-sync")
	cmd.Dir, cmd.SysProcAttr, cmd.WaitDelay = d.Path, d.Owner.Attributes(), initDelay
	cmd.Env, cmd.ExtraFiles = environment(program), []*os.File{folder}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("running %s: %w: %s", backupProgram, err, strings.ReplaceAll(strings.TrimSpace(string(out)), "\n", "; "))
	}
	return nil
}
