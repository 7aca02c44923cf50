// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pool pools connections to all databases of one PostgreSQL server under one limit.
//
// A connection belongs to one database, but a server limits the total. So there is one limit for all databases; when it is reached
// the connection that was idle for longest is closed. Idle connections also block DROP DATABASE: CloseIdle closes those of one
// database, and none stays idle for long.
//
//	p := pool.New(config, pool.Limits{Conns: 10, Idle: 30 * time.Second})
//	err := p.Do(ctx, "orders", func(ctx context.Context, c *pgx.Conn) error { … })
package pool

import (
	"context"
	"errors"
	"fmt"
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
type ConnectError struct{ Err error }

// Error returns the cause.
func (e *ConnectError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// Limits of a Pool.
type Limits struct {
	// Conns is the maximum number of connections, across all databases.
	Conns int
	// Idle is the idle time after which a connection is closed.
	Idle time.Duration
}

// A Pool of connections, safe for concurrent use.
type Pool struct {
	config *pgx.ConnConfig
	limits Limits
	slots  *semaphore.Weighted // one for each connection in use

	mu     sync.Mutex
	idle   []idle // the most recently used one is the last
	busy   int
	sweep  *time.Timer // active while there are idle connections
	closed bool
}

type idle struct {
	conn     *pgx.Conn
	database string
	since    time.Time
}

// New returns an empty pool. The database of config is ignored.
func New(config *pgx.ConnConfig, limits Limits) *Pool {
	return &Pool{config: config, limits: limits, slots: semaphore.NewWeighted(int64(limits.Conns))}
}

// A FullError means that all connections were in use until the caller's context ended.
type FullError struct {
	// Conns is the size of the pool.
	Conns int
	// Err is the error of the context.
	Err error
}

// Error returns the size of the pool and the cause.
func (e *FullError) Error() string {
	return fmt.Sprintf("waiting for one of %d connections: %v", e.Conns, e.Err)
}

// Unwrap returns the error of the context.
func (e *FullError) Unwrap() error { return e.Err }

// A Use calls f with exclusive use of a connection to the database, and returns the error of f; a *ConnectError means that f was
// not called.
type Use func(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error

// Do calls f with exclusive use of a connection to the database, and waits while all are in use. A *ConnectError, which wraps a
// *FullError if the wait was too long, means that f was not called.
func (p *Pool) Do(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	return p.WithSlot(ctx, func(use Use) error { return use(ctx, database, f) })
}

// WithSlot calls f, which may use connections to several databases one at a time. It occupies one slot of the pool, so it cannot
// deadlock with others.
func (p *Pool) WithSlot(ctx context.Context, f func(Use) error) error {
	if err := p.slots.Acquire(ctx, 1); err != nil {
		return &ConnectError{&FullError{Conns: p.limits.Conns, Err: err}}
	}
	defer p.slots.Release(1)
	return f(p.use)
}

func (p *Pool) use(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	conn, err := p.acquire(ctx, database)
	if err != nil {
		return &ConnectError{err}
	}
	defer p.release(conn, database)
	return f(ctx, conn)
}

// CloseIdle closes the idle connections to a database.
func (p *Pool) CloseIdle(database string) {
	p.closeIdle(func(i idle) bool { return i.database == database })
}

// Close closes all connections, those in use as soon as they are given back.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.closeIdle(func(idle) bool { return true })
}

func (p *Pool) acquire(ctx context.Context, database string) (*pgx.Conn, error) {
	for {
		found, spare, err := p.reserve(database)
		closeAll(spare)
		if err != nil {
			return nil, err
		}
		if found.conn == nil {
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
		return nil, err
	}
	return conn, nil
}

// reserve counts one more connection as in use: an idle one if found, else one that the caller opens after closing the spare ones.
func (p *Pool) reserve(database string) (found idle, spare []idle, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return idle{}, nil, ErrClosed
	}
	p.busy++
	for i := len(p.idle) - 1; i >= 0; i-- {
		if p.idle[i].database == database {
			found = p.idle[i]
			p.idle = slices.Delete(p.idle, i, i+1)
			return found, nil, nil
		}
	}
	if excess := p.busy + len(p.idle) - p.limits.Conns; excess > 0 {
		spare = slices.Clone(p.idle[:excess])
		p.idle = slices.Delete(p.idle, 0, excess)
	}
	return idle{}, spare, nil
}

// discard closes a connection in use, which may be nil, and decrements the count.
func (p *Pool) discard(conn *pgx.Conn) {
	if conn != nil {
		closeOne(conn)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
}

func (p *Pool) release(conn *pgx.Conn, database string) {
	const idle = 'I' // no open transaction
	if conn.IsClosed() || conn.PgConn().IsBusy() || conn.PgConn().TxStatus() != idle || !p.keep(conn, database) {
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
	p.idle = append(p.idle, idle{conn: conn, database: database, since: time.Now()})
	if p.sweep == nil {
		p.sweep = time.AfterFunc(p.limits.Idle, p.closeOld)
	}
	return true
}

// closeOld closes connections that were idle for too long.
func (p *Pool) closeOld() {
	now := time.Now()
	p.closeIdle(func(i idle) bool { return now.Sub(i.since) >= p.limits.Idle })
}

func (p *Pool) closeIdle(which func(idle) bool) {
	p.mu.Lock()
	var kept, closed []idle
	for _, i := range p.idle {
		if which(i) {
			closed = append(closed, i)
		} else {
			kept = append(kept, i)
		}
	}
	p.idle = kept
	if p.sweep != nil {
		p.sweep.Stop()
		p.sweep = nil
	}
	if len(kept) > 0 {
		p.sweep = time.AfterFunc(p.limits.Idle-time.Since(kept[0].since), p.closeOld)
	}
	p.mu.Unlock()
	closeAll(closed)
}

func closeAll(conns []idle) {
	for _, i := range conns {
		closeOne(i.conn)
	}
}

func closeOne(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout) // the caller's context may have ended
	defer cancel()
	_ = conn.Close(ctx) // it is closed even on error
}
