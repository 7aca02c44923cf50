// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
)

// A counter counts connections that are open.
type counter struct {
	open, most, opened atomic.Int32
}

func (c *counter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.opened.Add(1)
	now := c.open.Add(1)
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	return &counted{Conn: conn, counter: c}, nil
}

type counted struct {
	net.Conn
	counter *counter
	once    sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.counter.open.Add(-1) })
	return c.Conn.Close()
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	const bound, operations, again = 3, 200, 50
	var count counter
	s := connect(t, func(c *postgresql.Config) { c.MaxConns, c.Dial, c.SSLMode = bound, count.dial, postgresql.SSLDisable })
	databases := make([]string, 5)
	for i := range databases {
		databases[i] = newDatabase(t, s, postgresql.Database{}).Name
	}
	var all sync.WaitGroup
	for i := range operations {
		all.Go(func() {
			if _, err := postgresql.Get(t.Context(), s, postgresql.Schema{Database: databases[i%len(databases)], Name: "public"}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most := count.most.Load(); most != bound {
		t.Errorf("%d connections were open at a time, %d are allowed", most, bound)
	}
	before := count.opened.Load()
	for range again {
		if _, err := postgresql.Get(t.Context(), s, postgresql.Schema{Database: databases[0], Name: "public"}); err != nil {
			t.Fatal(err)
		}
	}
	if opened := count.opened.Load() - before; opened > again/2 { // a slow machine closes some as idle
		t.Errorf("%d operations opened %d connections", again, opened)
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	t.Parallel()
	var count counter
	s := connect(t, func(c *postgresql.Config) {
		c.IdleTimeout, c.Dial, c.SSLMode = 50*time.Millisecond, count.dial, postgresql.SSLDisable
	})
	for range 3 {
		if _, err := s.Version(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the idle connection is closed", func() bool { return count.open.Load() == 0 })
	}
	if opened := count.opened.Load(); opened != 3 {
		t.Errorf("%d connections were opened", opened)
	}
}

// A session in the database of a team keeps others from dropping and copying it, however often it is polled.
func TestSessionsInManagedDatabasesEndSoon(t *testing.T) {
	t.Parallel()
	s := connect(t, func(c *postgresql.Config) { c.IdleTimeout = time.Hour })
	d := connected(t, s, postgresql.Database{})
	conn := superuser(t, "postgres")
	eventually(t, "no session is left in the database", func() bool {
		var sessions int
		err := conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = $1", d.Name).Scan(&sessions)
		if err != nil {
			t.Fatal(err)
		}
		return sessions == 0
	})
	execute(t, conn, "DROP DATABASE "+quote(d.Name))
}

func TestClose(t *testing.T) {
	t.Parallel()
	var count counter
	s := connect(t, func(c *postgresql.Config) { c.Dial, c.SSLMode = count.dial, postgresql.SSLDisable })
	if _, err := s.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if open := count.open.Load(); open != 0 {
		t.Errorf("%d connections are open", open)
	}
	if _, err := s.Version(t.Context()); err == nil || count.opened.Load() != 1 {
		t.Errorf("used after it was closed: %v", err)
	}
}

func TestSessionsThatEnd(t *testing.T) {
	t.Parallel()
	s := connect(t)
	d := newDatabase(t, s, postgresql.Database{}).Name
	if _, err := postgresql.Get(t.Context(), s, postgresql.Schema{Database: d, Name: "public"}); err != nil {
		t.Fatal(err)
	}
	admin := superuser(t, "postgres")
	const end = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = $1"
	if _, err := admin.Exec(t.Context(), end, d); err != nil {
		t.Fatal(err)
	}
	time.Sleep(250 * time.Millisecond) // After that a connection is asked whether it lives.
	if _, err := postgresql.Get(t.Context(), s, postgresql.Schema{Database: d, Name: "public"}); err != nil {
		t.Error(err)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	t.Parallel()
	dialing, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	s := connect(t, func(c *postgresql.Config) {
		c.MaxConns = 1
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			once.Do(func() { close(dialing) })
			<-release
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	})
	var first sync.WaitGroup
	first.Go(func() {
		if _, err := s.Version(t.Context()); err != nil {
			t.Error(err)
		}
	})
	<-dialing
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Version(ctx)
	want(t, err, postgresql.IsUnavailable, "unavailable")
	if !errors.Is(err, context.DeadlineExceeded) || postgresql.IsOutcomeUnknown(err) {
		t.Errorf("got %v", err)
	}
	if !postgresql.IsPoolFull(err) || !strings.Contains(err.Error(), "all 1 are in use") || strings.Contains(err.Error(), "does it run") {
		t.Errorf("the error lacks the reason: %v", err)
	}
	close(release)
	first.Wait()
	if _, err := s.Version(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	stop := errors.New("stop")
	var refuse atomic.Bool
	s := connect(t, func(c *postgresql.Config) {
		c.Limit = func(ctx context.Context, call func(context.Context) error) error {
			calls.Add(1)
			if refuse.Load() {
				return stop
			}
			return call(ctx)
		}
	})
	r := newRole(t, s, postgresql.Role{})
	if _, err := postgresql.Get(t.Context(), s, postgresql.Role{Name: r.Name}); err != nil || calls.Load() != 2 {
		t.Errorf("%d calls, %v", calls.Load(), err)
	}
	refuse.Store(true)
	defer refuse.Store(false)
	if _, err := postgresql.Get(t.Context(), s, postgresql.Role{Name: r.Name}); !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
}

func startServer(t *testing.T, settings ...string) *postgresqltest.Server {
	t.Helper()
	server, err := postgresqltest.Start(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func TestKilledServer(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	s := connectTo(t, server.Config())
	if _, err := postgresql.Create(t.Context(), s, postgresql.Database{Name: "d"}); err != nil {
		t.Fatal(err)
	}
	if _, err := postgresql.Get(t.Context(), s, postgresql.Schema{Database: "d", Name: "public"}); err != nil {
		t.Fatal(err)
	}
	holder := connectTo(t, server.Config())
	if _, err := postgresql.Get(t.Context(), holder, postgresql.Schema{Database: "d", Name: "public"}); err != nil {
		t.Fatal(err)
	}
	// The session of the holder makes the server wait, and in that time it is killed.
	outcome := make(chan error, 1)
	go func() { outcome <- postgresql.Delete(t.Context(), s, postgresql.Database{Name: "d"}) }()
	eventually(t, "the deletion is under way", func() bool { return waits(t, server) })
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	err := <-outcome
	want(t, err, postgresql.IsOutcomeUnknown, "open")
	want(t, err, postgresql.IsUnavailable, "unavailable")
	_, err = postgresql.Get(t.Context(), s, postgresql.Database{Name: "d"})
	want(t, err, postgresql.IsUnavailable, "unavailable")
	if postgresql.IsOutcomeUnknown(err) || !strings.Contains(fmt.Sprint(err), "connection refused") {
		t.Errorf("nothing was sent: %v", err)
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if _, err := postgresql.Get(t.Context(), s, postgresql.Database{Name: "d"}); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

// A server that accepts connections and does not answer is noticed soon, also by what waits for a connection of the pool.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	gone := errors.New("known to be unreachable")
	var known atomic.Bool
	var count counter
	c := server.Config()
	c.MaxConns, c.Dial, c.SSLMode = 1, count.dial, postgresql.SSLDisable
	c.Limit = func(ctx context.Context, call func(context.Context) error) error {
		if known.Load() {
			return gone
		}
		err := call(ctx)
		known.Store(postgresql.IsUnreached(err))
		return err
	}
	s := connectTo(t, c)
	if _, err := s.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	used := time.Now()
	eventually(t, "the idle connection is pinged before use", func() bool { return time.Since(used) > 300*time.Millisecond })
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	errs, opened := make([]error, 20), count.opened.Load()
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = s.Version(t.Context()) })
	}
	all.Wait()
	if n := count.opened.Load() - opened; n > 2 { // a new one, and one to cancel the ping of the idle one
		t.Errorf("%d connections waited for an answer", n)
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if !postgresql.IsUnreached(errs[0]) || errs[1] != gone || errs[len(errs)-1] != gone {
		t.Errorf("got %v", errs)
	}
	known.Store(false)
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Version(t.Context()); err != nil {
		t.Errorf("when it answers again: %v", err)
	}
}

// A database or a role that keeps its clients waiting is no sign that the server does not answer.
func TestSlowDatabase(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	super := connectTo(t, server.Config())
	d := newDatabase(t, super, postgresql.Database{Name: "d"})
	conn, err := openAt(t, server.Config())
	if err != nil {
		t.Fatal(err)
	}
	execute(t, conn, "CREATE ROLE admin LOGIN CREATEROLE PASSWORD 'admin'", "BEGIN", "ALTER DATABASE d RENAME TO e")
	var hangs atomic.Bool
	c := server.Config()
	c.Username, c.Password = "admin", "admin"
	c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if hangs.CompareAndSwap(true, false) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	s := connectTo(t, c)
	role := create(t, s, postgresql.Role{Name: "r", Login: ptr(true), Password: "right"})
	hangs.Store(true)
	_, login := s.RefusesPassword(t.Context(), role, "right")
	_, waiting := postgresql.Get(t.Context(), s, postgresql.Schema{Database: d.Name, Name: "public"})
	for what, err := range map[string]error{`logins of role "r"`: login, `connections to database "d"`: waiting} {
		if !postgresql.IsConflict(err) || postgresql.IsUnavailable(err) || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v", err)
		}
	}
}

// waits reports whether a session of the server deletes a database.
func waits(t *testing.T, server *postgresqltest.Server) bool {
	t.Helper()
	c := server.Config()
	conn, err := openAt(t, c)
	if err != nil {
		return false
	}
	var deleting bool
	err = conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
		WHERE state = 'active' AND query LIKE 'DROP DATABASE%')`).Scan(&deleting)
	return err == nil && deleting
}

func TestServerOutOfConnections(t *testing.T) {
	t.Parallel()
	server := startServer(t, "max_connections=2", "superuser_reserved_connections=0", "max_wal_senders=0")
	for range 2 {
		eventually(t, "the server has a connection left", func() bool {
			_, err := openAt(t, server.Config())
			return err == nil
		})
	}
	s := connectTo(t, server.Config())
	_, err := s.Version(t.Context())
	want(t, err, postgresql.IsBusy, "busy")
	want(t, err, postgresql.IsUnavailable, "unavailable")
	if postgresql.IsOutcomeUnknown(err) {
		t.Errorf("nothing was sent: %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		config postgresql.Config
		words  []string
	}{
		"empty":   {postgresql.Config{}, []string{"endpoint is required", "username is required"}},
		"numbers": {postgresql.Config{Port: 70000, MaxConns: -1}, []string{"port 70000", "max conns -1"}},
		"mode":    {postgresql.Config{SSLMode: "always"}, []string{`SSL mode "always"`}},
		"roots":   {postgresql.Config{RootCAs: []byte("x")}, []string{"no PEM certificate"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := postgresql.New(tc.config)
			for _, words := range tc.words {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("lacks %q: %v", words, err)
				}
			}
		})
	}
}

func TestEnvironmentIsIgnored(t *testing.T) {
	for name, value := range map[string]string{
		"PGHOST": "nowhere.invalid", "PGPORT": "1", "PGUSER": "nobody", "PGPASSWORD": "wrong", "PGSSLMODE": "verify-full",
		"PGSSLROOTCERT": "/none", "PGSSLCERT": "/none", "PGTARGETSESSIONATTRS": "standby", "PGOPTIONS": "-c nonsense=1",
		"PGREQUIREAUTH": "none", "PGCHANNELBINDING": "require",
	} {
		t.Setenv(name, value)
	}
	if _, err := connect(t).Version(t.Context()); err != nil {
		t.Error(err)
	}
}

// A database that is missing by mistake must not make everything else look deleted.
func TestMissingMaintenanceDatabase(t *testing.T) {
	t.Parallel()
	s := connect(t, func(c *postgresql.Config) { c.Database = "no such" })
	_, err := postgresql.Get(t.Context(), s, postgresql.Role{Name: "postgres"})
	want(t, err, postgresql.IsUnavailable, "unavailable")
	if postgresql.IsNotFound(err) || !strings.Contains(fmt.Sprint(err), `"no such"`) {
		t.Errorf("got %v", err)
	}
}

func TestCanary(t *testing.T) {
	t.Parallel()
	const canary = "canary'in the mine"
	s := connect(t)
	r := newRole(t, s, postgresql.Role{Login: ptr(true), Password: canary})
	update := postgresql.Role{Name: r.Name, Password: canary}
	if err := postgresql.Update(t.Context(), s, update); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, "postgres", r.Name, canary); err != nil {
		t.Fatal(err)
	}
	_, exists := postgresql.Create(t.Context(), s, update)
	update.Settings = map[string]string{"no_such_setting": "1"}
	invalid := postgresql.Update(t.Context(), s, update)
	other := connect(t, func(c *postgresql.Config) { c.Password = canary })
	_, refused := other.Version(t.Context())
	_, unusable := postgresql.Create(t.Context(), s, postgresql.Role{Name: unique(t), Password: canary + "\x00"})
	config := shared.Config()
	config.Password = canary
	encoded, err := json.Marshal(struct {
		Role   postgresql.Role
		Secret postgresql.Secret
	}{update, canary})
	log, logErr := shared.Log()
	if err := errors.Join(err, logErr); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log, "PASSWORD 'SCRAM-SHA-256$") {
		t.Error("the log holds no statements: nothing is proven")
	}
	for where, text := range map[string]string{
		"the log": log, "an error": fmt.Sprint(exists, invalid, refused, unusable), "JSON": string(encoded),
		"a print": fmt.Sprintf("%v %+v %#v", update, config, update),
	} {
		if strings.Contains(text, "canary") {
			t.Errorf("%s holds the password", where)
		}
	}
	for _, err := range []error{exists, invalid, refused, unusable} {
		if err == nil {
			t.Error("an error is missing")
		}
	}
}
