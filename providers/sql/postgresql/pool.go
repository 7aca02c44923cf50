// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pool pools connections to all databases of one PostgreSQL server under one limit.
//
// A connection belongs to one database, but a server limits the total. So there is one limit for all databases; when it is reached
// the connection that was idle for longest is closed. Idle connections also block DROP DATABASE: CloseIdle closes those of one
// database, and none stays idle for long.
//
//	p := pool.New(config, 10, 30 * time.Second)
//	err := p.Do(ctx, "orders", func(ctx context.Context, c *pgx.Conn) error { … })
package pool

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

// ErrClosed is returned after Close.
var ErrClosed = errors.New("the connections to this PostgreSQL server were closed")

// A ConnectError means that no connection was available and nothing was sent.
type ConnectError struct {
	// InUse is the size of the pool if all its connections were in use until the caller's context ended. Else 0.
	InUse int
	Err   error
}

// Error returns the cause.
func (e *ConnectError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// A Pool of connections, safe for concurrent use.
type Pool struct {
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

// New returns an empty pool of at most that many connections, across all databases, which are closed when they were idle for that
// long. The database of config is ignored.
func New(config *pgx.ConnConfig, most int, idleTimeout time.Duration) *Pool {
	return &Pool{config: config, most: most, idleAfter: idleTimeout, slots: semaphore.NewWeighted(int64(most))}
}

// A Use calls f with exclusive use of a connection to the database, and returns the error of f; a *ConnectError means that f was
// not called.
type Use func(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error

// Do is WithSlot for the use of one connection.
func (p *Pool) Do(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	return p.WithSlot(ctx, func(use Use) error { return use(ctx, database, f) })
}

// WithSlot waits while all connections are in use, and calls f, which may use connections to several databases one at a time. It
// occupies one slot of the pool, so it cannot deadlock with others. A *ConnectError means that f was not called.
func (p *Pool) WithSlot(ctx context.Context, f func(Use) error) error {
	if err := p.slots.Acquire(ctx, 1); err != nil {
		return &ConnectError{InUse: p.most, Err: err}
	}
	defer p.slots.Release(1)
	return f(p.use)
}

func (p *Pool) use(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	conn, err := p.acquire(ctx, database)
	if err != nil {
		return &ConnectError{Err: err}
	}
	defer p.release(conn, database)
	return f(ctx, conn)
}

// CloseIdle closes the idle connections to a database.
func (p *Pool) CloseIdle(database string) {
	p.closeIdle(func(i *idle) bool { return i.database == database })
}

// Close closes all connections, those in use as soon as they are given back.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.closeIdle(func(*idle) bool { return true })
}

func (p *Pool) acquire(ctx context.Context, database string) (*pgx.Conn, error) {
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
func (p *Pool) reserve(database string) (found, spare *idle, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, ErrClosed
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

func (p *Pool) take(i int) *idle {
	taken := p.idle[i]
	taken.expiry.Stop()
	p.idle = slices.Delete(p.idle, i, i+1)
	return taken
}

// discard closes a connection in use, which may be nil, and decrements the count.
func (p *Pool) discard(conn *pgx.Conn) {
	if conn != nil {
		closeConn(conn)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
}

func (p *Pool) release(conn *pgx.Conn, database string) {
	const noTransaction = 'I'
	if conn.IsClosed() || conn.PgConn().IsBusy() || conn.PgConn().TxStatus() != noTransaction || !p.keep(conn, database) {
		p.discard(conn)
	}
}

// keep marks a connection idle unless the pool was closed.
func (p *Pool) keep(conn *pgx.Conn, database string) bool {
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

func (p *Pool) closeIdle(which func(*idle) bool) {
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
