// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"golang.org/x/sync/semaphore"
)

const (
	// pingAfter is the idle time after which a connection is pinged before use. No server restarts faster.
	pingAfter = 200 * time.Millisecond
	// pingTimeout and connectTimeout are for a server that accepts connections and does not answer. The latter includes the pings of idle
	// connections, and both attempts of SSLPrefer.
	pingTimeout    = time.Second
	connectTimeout = 5 * time.Second
	// visitIdle is how long a connection to a database that is not the client's own may be idle: a session there keeps others from
	// dropping or copying the database, and is one of its connection limit. A pass uses it several times at once.
	visitIdle = 2 * time.Second
	// closeTimeout is for sending the termination of a connection.
	closeTimeout = 2 * time.Second
)

var errClosed = errors.New("the connections to this PostgreSQL server were closed")

// A connectError means that no connection was available and nothing was sent.
type connectError struct {
	inUse int // size of the pool if all its connections were in use until the caller's context ended; else 0
	error
}

func (e *connectError) Unwrap() error { return e.error }

// A pool has connections to all databases of one server: a server limits their total. At the limit the connection that was idle for longest
// is closed. Idle connections also block DROP DATABASE, so none stays idle for long. It is safe for concurrent use.
type pool struct {
	config    *pgx.ConnConfig
	most      int
	idleAfter time.Duration
	slots     *semaphore.Weighted // one for each connection in use

	mu     sync.Mutex
	idle   []*idle // the most recently used one is the last
	busy   int
	closed bool
	system string // that the last new connection reached, see Server.SystemIdentifier
}

type idle struct {
	conn     *pgx.Conn
	database string
	since    time.Time
	expiry   *time.Timer
}

func newPool(config *pgx.ConnConfig, most int, idleTimeout time.Duration) *pool {
	return &pool{config: config, most: most, idleAfter: idleTimeout, slots: semaphore.NewWeighted(int64(most))}
}

// A useConn calls f with exclusive use of a connection to the database, and returns the error of f; a *connectError means that f was
// not called.
type useConn func(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error

// withSlot waits while all connections are in use, and calls f, which may use connections to several databases one at a time. It
// occupies one slot of the pool, so it cannot deadlock with others. A *connectError means that f was not called. arrive is called with what
// SystemIdentifier returns for each connection before it is used, and may refuse that.
func (p *pool) withSlot(ctx context.Context, arrive func(system string) error, f func(useConn) error) error {
	if err := p.slots.Acquire(ctx, 1); err != nil {
		return &connectError{inUse: p.most, error: err}
	}
	defer p.slots.Release(1)
	return f(func(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
		conn, err := p.acquire(ctx, database, arrive)
		if err != nil {
			return &connectError{error: err}
		}
		defer p.release(conn, database)
		if err := arrive(systemOf(conn)); err != nil {
			return err
		}
		return f(ctx, conn)
	})
}

func (p *pool) closeIdleTo(database string) {
	p.closeIdle(func(i *idle) bool { return i.database == database })
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.closeIdle(func(*idle) bool { return true })
}

func (p *pool) acquire(ctx context.Context, database string, arrive func(system string) error) (*pgx.Conn, error) {
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	for {
		found, spare, err := p.reserve(database)
		if err != nil {
			return nil, err
		}
		if spare != nil {
			closeConn(spare.conn)
		}
		if found == nil {
			break
		}
		if time.Since(found.since) < pingAfter || answers(connecting, found.conn) {
			return found.conn, nil
		}
		p.discard(found.conn) // the server was restarted, or the session terminated
	}
	conn, err := p.connect(connecting, database)
	if err != nil && database != p.config.Database {
		err = p.explain(ctx, err, fmt.Sprintf("connections to database %q", database), arrive)
	}
	if err != nil {
		p.discard(nil)
	}
	return conn, err
}

// explain returns the error of what could not be opened: that of the pool's own database, if that cannot be opened either. Only this one
// shows that the server does not answer, or which server lacks a database.
func (p *pool) explain(ctx context.Context, err error, what string, arrive func(system string) error) error {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	slow := errors.Is(err, context.DeadlineExceeded)
	if ctx.Err() != nil || !slow && (!answered || answer.Code != codeNoDatabase) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	own, failed := p.connect(ctx, p.config.Database)
	if failed != nil {
		return failed
	}
	closeConn(own)
	if err := arrive(systemOf(own)); err != nil {
		return err
	}
	if slow {
		return &Error{Code: codeNotReady, Message: fmt.Sprintf("the server answers, but %s wait", what),
			Hint: "The call is retried; a database waits while it is copied, renamed or dropped, which pg_stat_activity shows."}
	}
	return err
}

func (p *pool) connect(ctx context.Context, database string) (*pgx.Conn, error) {
	config := p.config.Copy()
	config.Database = database
	conn, err := pgx.ConnectConfig(ctx, config)
	if refused, answered := errors.AsType[*pgconn.PgError](err); answered && isFile(refused) {
		// The database or our user has a setting by which sessions load a missing library, which superusers may override.
		config.RuntimeParams["session_preload_libraries"] = ""
		if without, failed := pgx.ConnectConfig(ctx, config); failed == nil {
			conn, err = without, nil
		}
	}
	if err != nil {
		return nil, err
	}
	if err := p.identify(ctx, conn); err != nil {
		closeConn(conn)
		return nil, err
	}
	return conn, nil
}

// isFile is true for the SQLSTATEs of files that the server cannot use.
func isFile(refused *pgconn.PgError) bool { return strings.HasPrefix(refused.Code, "58") }

const systemKey = "system" // in the custom data of a connection

// identify asks a new connection which server it reached: the address may lead to another one than before, whose connections are not
// used any more. A server need not say.
func (p *pool) identify(ctx context.Context, conn *pgx.Conn) error {
	var system string
	err := conn.QueryRow(ctx, "SELECT system_identifier::text FROM pg_catalog.pg_control_system()").Scan(&system)
	if answer, answered := errors.AsType[*pgconn.PgError](err); err != nil && (!answered || ends(answer.Code)) {
		return err
	}
	conn.PgConn().CustomData()[systemKey] = system
	p.mu.Lock()
	p.system = system
	p.mu.Unlock()
	p.closeIdle(func(i *idle) bool { return systemOf(i.conn) != system })
	return nil
}

// ends is true for the SQLSTATE of a statement or session that was ended from outside.
func ends(code string) bool { return strings.HasPrefix(code, "57") }

func systemOf(conn *pgx.Conn) string {
	system, _ := conn.PgConn().CustomData()[systemKey].(string)
	return system
}

// answers pings an idle connection. The deadline is that of its socket, since a context asks the server to cancel the ping, and waits.
func answers(ctx context.Context, conn *pgx.Conn) bool {
	socket := conn.PgConn().Conn()
	err := socket.SetDeadline(time.Now().Add(pingTimeout))
	return err == nil && conn.Ping(ctx) == nil && socket.SetDeadline(time.Time{}) == nil
}

// reserve counts one more connection as in use: an idle one if found, else one that the caller opens after closing the spare one.
func (p *pool) reserve(database string) (found, spare *idle, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errClosed
	}
	p.busy++
	for i := len(p.idle) - 1; i >= 0; i-- {
		if p.idle[i].database == database {
			return p.take(i), nil, nil
		}
	}
	if len(p.idle) > 0 && p.busy+len(p.idle) > p.most {
		return nil, p.take(0), nil
	}
	return nil, nil, nil
}

func (p *pool) take(i int) *idle {
	taken := p.idle[i]
	taken.expiry.Stop()
	p.idle = slices.Delete(p.idle, i, i+1)
	return taken
}

// discard closes a connection in use, which may be nil, and decrements the count.
func (p *pool) discard(conn *pgx.Conn) {
	if conn != nil {
		closeConn(conn)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
}

func (p *pool) release(conn *pgx.Conn, database string) {
	const noTransaction = 'I'
	if conn.IsClosed() || conn.PgConn().IsBusy() || conn.PgConn().TxStatus() != noTransaction || !p.keep(conn, database) {
		p.discard(conn)
	}
}

// keep marks a connection idle unless the pool was closed.
func (p *pool) keep(conn *pgx.Conn, database string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || systemOf(conn) != p.system {
		return false
	}
	p.busy--
	i, idleAfter := &idle{conn: conn, database: database, since: time.Now()}, p.idleAfter
	if database != p.config.Database {
		idleAfter = min(idleAfter, visitIdle)
	}
	i.expiry = time.AfterFunc(idleAfter, func() { p.closeIdle(func(other *idle) bool { return other == i }) })
	p.idle = append(p.idle, i)
	return true
}

func (p *pool) closeIdle(which func(*idle) bool) {
	var closed []*idle
	p.mu.Lock()
	p.idle = slices.DeleteFunc(p.idle, func(i *idle) bool {
		if which(i) {
			closed = append(closed, i)
		}
		return which(i)
	})
	p.mu.Unlock()
	for _, i := range closed {
		i.expiry.Stop()
		closeConn(i.conn)
	}
}

func closeConn(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout) // the caller's context may have ended
	defer cancel()
	_ = conn.Close(ctx) // it is closed even on error
}
