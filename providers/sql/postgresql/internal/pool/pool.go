// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pool keeps connections to all databases of one PostgreSQL server under one bound.
//
// A connection belongs to one database, and what a server is short of is connections in total: pools of one database
// each, fifty of them, would take what everybody else needs. So there is one number for all, and when it is reached the
// connection that was idle for longest makes room, whatever its database. Idle connections are also in the way of DROP
// DATABASE, which is why Leave exists, and why none stays idle for long.
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
	// pingAfter is how long a connection may have been idle and still be used without asking whether it lives. No server
	// restarts in that time.
	pingAfter = 200 * time.Millisecond
	// goodbye is how long telling the server that a connection ends may take.
	goodbye = 2 * time.Second
)

// ErrClosed says that the pool was closed.
var ErrClosed = errors.New("the connections to this PostgreSQL server were closed")

// A ConnectError says that there was no connection to do anything with.
type ConnectError struct{ Err error }

// Error returns the cause.
func (e *ConnectError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Err }

// Limits bound a Pool.
type Limits struct {
	// Conns is the most connections at a time, to all databases together.
	Conns int
	// Idle is how long a connection may be idle before it is closed.
	Idle time.Duration
}

// A Pool keeps connections. It is safe for concurrent use.
type Pool struct {
	config *pgx.ConnConfig
	limits Limits
	turns  *semaphore.Weighted // one for each connection in use

	mu     sync.Mutex
	idle   []idle // the one that was used last is the last
	busy   int
	sweep  *time.Timer // runs while there are idle connections
	closed bool
}

type idle struct {
	conn     *pgx.Conn
	database string
	since    time.Time
}

// New returns an empty pool. The database of config does not matter.
func New(config *pgx.ConnConfig, limits Limits) *Pool {
	return &Pool{config: config, limits: limits, turns: semaphore.NewWeighted(int64(limits.Conns))}
}

// A FullError says that all connections were in use, and none came free while the caller waited.
type FullError struct {
	// Conns is how many there are.
	Conns int
	// Err is why the caller waits no longer.
	Err error
}

// Error says how many there are, and why nobody waits any more.
func (e *FullError) Error() string {
	return fmt.Sprintf("waiting for one of %d connections: %v", e.Conns, e.Err)
}

// Unwrap returns why the caller waits no longer.
func (e *FullError) Unwrap() error { return e.Err }

// A Use calls f with a connection to the database that nobody else uses meanwhile, and returns what f returns; a
// *ConnectError means that f was not called.
type Use func(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error

// Do calls f with a connection to the database that nobody else uses meanwhile, waiting for one while all are in use. What
// f returns is returned; a *ConnectError, which holds a *FullError if the wait was too long, means that f was not called.
func (p *Pool) Do(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	return p.Turn(ctx, func(use Use) error { return use(ctx, database, f) })
}

// Turn calls f, which may use connections to one database after the other, but never two at a time: so it waits for no second
// one while it keeps others from the first.
func (p *Pool) Turn(ctx context.Context, f func(Use) error) error {
	if err := p.turns.Acquire(ctx, 1); err != nil {
		return &ConnectError{&FullError{Conns: p.limits.Conns, Err: err}}
	}
	defer p.turns.Release(1)
	return f(p.use)
}

func (p *Pool) use(ctx context.Context, database string, f func(context.Context, *pgx.Conn) error) error {
	conn, err := p.take(ctx, database)
	if err != nil {
		return &ConnectError{err}
	}
	defer p.giveBack(conn, database)
	return f(ctx, conn)
}

// Leave closes the idle connections to a database.
func (p *Pool) Leave(database string) {
	p.closeIdle(func(i idle) bool { return i.database == database })
}

// Close closes all connections, those in use as soon as they are given back.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.closeIdle(func(idle) bool { return true })
}

func (p *Pool) take(ctx context.Context, database string) (*pgx.Conn, error) {
	for {
		found, spare, err := p.claim(database)
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
		p.forget(found.conn) // The server was restarted, or somebody ended the session.
	}
	config := p.config.Copy()
	config.Database = database
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		p.forget(nil)
		return nil, err
	}
	return conn, nil
}

// claim counts one more connection as in use: an idle one if it found any, else the caller's to open, for which spare ones
// have to go.
func (p *Pool) claim(database string) (found idle, spare []idle, err error) {
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

// forget closes a connection that is in use, if there is one, and no longer counts it.
func (p *Pool) forget(conn *pgx.Conn) {
	if conn != nil {
		closeOne(conn)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy--
}

func (p *Pool) giveBack(conn *pgx.Conn, database string) {
	const quiet = 'I' // no transaction is open
	if conn.IsClosed() || conn.PgConn().IsBusy() || conn.PgConn().TxStatus() != quiet || !p.keep(conn, database) {
		p.forget(conn)
	}
}

// keep makes a connection idle unless the pool was closed.
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

// closeOld closes what was idle for too long and comes back while anything is idle.
func (p *Pool) closeOld() {
	now := time.Now()
	p.closeIdle(func(i idle) bool { return now.Sub(i.since) >= p.limits.Idle })
}

func (p *Pool) closeIdle(which func(idle) bool) {
	p.mu.Lock()
	var kept, gone []idle
	for _, i := range p.idle {
		if which(i) {
			gone = append(gone, i)
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
	closeAll(gone)
}

func closeAll(conns []idle) {
	for _, i := range conns {
		closeOne(i.conn)
	}
}

func closeOne(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye) // The caller's time may be over.
	defer cancel()
	_ = conn.Close(ctx) // It is gone either way.
}
