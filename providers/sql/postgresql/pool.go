// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/semaphore"
)

const (
	// pingAfter is the idle time after which a connection is pinged before use. No server restarts faster.
	pingAfter = 200 * time.Millisecond
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

// A pool has connections to all databases of one server: a server limits their total. When the limit is reached the connection that
// was idle for longest is closed. Idle connections also block DROP DATABASE, so none stays idle for long. It is safe for concurrent
// use.
type pool struct {
	config    *pgx.ConnConfig
	most      int
	idleAfter time.Duration
	slots     *semaphore.Weighted // one for each connection in use

	mu     sync.Mutex
	idle   []*idle // the most recently used one is the last
	busy   int
	closed bool
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

// do is withSlot for the use of one connection.
func (p *pool) do(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	return p.withSlot(ctx, func(use useConn) error { return use(ctx, database, f) })
}

// withSlot waits while all connections are in use, and calls f, which may use connections to several databases one at a time. It
// occupies one slot of the pool, so it cannot deadlock with others. A *connectError means that f was not called.
func (p *pool) withSlot(ctx context.Context, f func(useConn) error) error {
	if err := p.slots.Acquire(ctx, 1); err != nil {
		return &connectError{inUse: p.most, error: err}
	}
	defer p.slots.Release(1)
	return f(p.use)
}

func (p *pool) use(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	conn, err := p.acquire(ctx, database)
	if err != nil {
		return &connectError{error: err}
	}
	defer p.release(conn, database)
	return f(ctx, conn)
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

func (p *pool) acquire(ctx context.Context, database string) (*pgx.Conn, error) {
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
		if time.Since(found.since) < pingAfter || found.conn.Ping(ctx) == nil {
			return found.conn, nil
		}
		p.discard(found.conn) // the server was restarted, or the session terminated
	}
	config := p.config.Copy()
	config.Database = database
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		p.discard(nil)
	}
	return conn, err
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
	if p.closed {
		return false
	}
	p.busy--
	i := &idle{conn: conn, database: database, since: time.Now()}
	i.expiry = time.AfterFunc(p.idleAfter, func() { p.closeIdle(func(other *idle) bool { return other == i }) })
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
