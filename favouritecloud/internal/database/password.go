// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// Users can change the password of a server with SQL. So the cloud administers servers through a socket that needs none. Only root and the
// account of the servers can enter its folder, who can read the data anyway. The server itself can, too, and a function such as that of
// extension dblink connects to where a user of the server says. So the name of the folder is a secret, a new one at each start, which
// PostgreSQL shows only to those who may read all settings.

const (
	accessName    = "pg_hba.conf" // in the folder of the server, with the content access
	access        = "local all,replication " + username + " trust\nhost all,replication all " + host.Loopback + "/32 scram-sha-256\n"
	socketPrefix  = "socket-"
	socketSetting = "unix_socket_directories=../" // from the data folder, where servers work: Linux limits the length of the path
)

// newSocketFolder creates a folder for the socket, and removes those of former starts.
func (d *driver) newSocketFolder() (name string, err error) {
	owner, errOwner := d.DataOwner()
	entries, err := os.ReadDir(d.Path)
	if err := errors.Join(errOwner, err); err != nil {
		return "", err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), socketPrefix) {
			if err := os.RemoveAll(filepath.Join(d.Path, e.Name())); err != nil {
				return "", err
			}
		}
	}
	name = socketPrefix + rand.Text()
	path := filepath.Join(d.Path, name)
	return name, errors.Join(os.Mkdir(path, 0o700), owner.Own(path))
}

// openSocketFolder opens the folder of a server's socket.
func (d *driver) openSocketFolder(s *host.Server) (*os.File, error) {
	for _, arg := range s.Args {
		if name, ok := strings.CutPrefix(arg, socketSetting); ok {
			return os.Open(filepath.Join(d.Path, name))
		}
	}
	return nil, errors.New("the server was started by an earlier version and has no socket of its own: it is about to be restarted")
}

// applyPassword sets the desired password of the running server, unless the server is known to have it. While the server has no free
// connection, it tries again until ctx ends.
func (d *driver) applyPassword(ctx context.Context, s *host.Server, r record) error {
	if r.Spec.PasswordRequests == 0 {
		return nil
	}
	err := d.setAndCheckPassword(ctx, s, r)
	for isFull(err) && ctx.Err() == nil {
		select {
		case <-time.After(fullRetry):
			err = d.setAndCheckPassword(ctx, s, r)
		case <-ctx.Done():
		}
	}
	if err != nil {
		return err
	}
	d.Log.Info("password changed")
	_, err = d.Update(func(now *record) {
		if now.Spec.PasswordRequests == r.Spec.PasswordRequests { // else there is another desired one by now
			now.Spec.PasswordRequests = 0
		}
	})
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("recording password: %w", err)
	}
	return nil
}

// fullRetry is the pause before a server that had no free connection is asked again.
const fullRetry = 250 * time.Millisecond

// isFull is true for the answer of a server that has no free connection, not even for the superuser.
func isFull(err error) bool {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	return answered && answer.Code == tooManyConnections
}

func (d *driver) setAndCheckPassword(ctx context.Context, s *host.Server, r record) error {
	if err := d.setPassword(ctx, s, r.Password); err != nil {
		return fmt.Errorf("changing password: %w", err)
	}
	opens, err := d.Opens(ctx, r, r.Password)
	if err != nil {
		return fmt.Errorf("checking new password: %w", err)
	}
	if !opens {
		return errors.New("the server does not accept the new password")
	}
	return nil
}

// firstPassword returns the password for data that is about to be created, and records that the server will have no other.
func (d *driver) firstPassword() (string, error) {
	r, err := d.Update(func(r *record) { r.Spec.PasswordRequests = 0 })
	if err != nil {
		return "", fmt.Errorf("recording password: %w", err)
	}
	return r.Password, nil
}

// setPassword changes the password of the superuser. The change is on disk when it returns nil. Errors contain no password.
func (d *driver) setPassword(ctx context.Context, s *host.Server, desired string) error {
	conn, err := d.administer(ctx, s)
	if err != nil {
		return err
	}
	defer conn.Close(ctx) // The change is committed.
	statement := "ALTER ROLE " + username + " PASSWORD '" + strings.ReplaceAll(desired, "'", "''") + "' VALID UNTIL 'infinity'"
	return conn.Exec(ctx, statement).Close()
}

// administer opens a session of the superuser that logs no statements, since they contain passwords.
func (d *driver) administer(ctx context.Context, s *host.Server) (*pgconn.PgConn, error) {
	conn, err := d.logIn(ctx, s, map[string]string{
		"log_statement": "none", "log_min_error_statement": "panic", "log_min_duration_statement": "-1",
		"standard_conforming_strings": "on", "password_encryption": "scram-sha-256", "synchronous_commit": "on",
	})
	if err != nil {
		return nil, err
	}
	if err := conn.Exec(ctx, unlimited).Close(); err != nil {
		return nil, errors.Join(fmt.Errorf("preparing session: %w", err), conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// unlimited removes limits that only some versions have, which would refuse the settings at login.
const unlimited = "select set_config(name, '0', false) from pg_settings where name in ('idle_session_timeout', 'transaction_timeout')"

// logIn opens a session of the superuser through the socket. Its settings precede those that a user stored with ALTER ROLE or ALTER
// DATABASE, which could take the powers of the superuser from the session, or end its statements.
func (d *driver) logIn(ctx context.Context, s *host.Server, settings map[string]string) (*pgconn.PgConn, error) {
	folder, err := d.openSocketFolder(s)
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	defer folder.Close() // only read
	all := map[string]string{
		"role": "none", "default_transaction_read_only": "off", "statement_timeout": "0", "lock_timeout": "0",
		"client_encoding": "UTF8", "search_path": "pg_catalog",
	}
	maps.Copy(all, settings)
	return connect(ctx, host.ShortPath(folder.Fd()), setting(s, "port"), func(c *pgconn.Config) { c.RuntimeParams = all })
}

// Opens reports whether the running server accepts a password of its superuser.
func (d *driver) Opens(ctx context.Context, r record, password string) (bool, error) {
	server, err := d.Find(ctx, r)
	if err != nil {
		return false, err
	}
	server.Close()
	conn, err := connect(ctx, host.Loopback, setting(server, "port"), func(c *pgconn.Config) {
		c.Password, c.RequireAuth = password, "scram-sha-256" // which reveals no password to another program on the port
	})
	if answer, answered := errors.AsType[*pgconn.PgError](err); answered && strings.HasPrefix(answer.Code, invalidAuthorization) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, conn.Close(ctx)
}

// connect opens a session of the superuser.
func connect(ctx context.Context, at string, port int, configure func(*pgconn.Config)) (*pgconn.PgConn, error) {
	config, err := pgconn.ParseConfig(fmt.Sprintf("host=%s port=%d user=%s database=%s sslmode=disable", at, port, username, database))
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	config.ConnectTimeout, config.RuntimeParams = loginTimeout, nil
	configure(config)
	conn, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connecting to server: %w", err)
	}
	return conn, nil
}
