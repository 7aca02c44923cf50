// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// A Listener closes its connections with itself. The server closes it when all requests but watches are answered; net/http would wait
// another second for its peers.
type Listener struct {
	*net.TCPListener
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// Listen opens a listener on a TCP address.
func Listen(ctx context.Context, address string) (*Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another process; choose another port, or 0 for a free one: %w", address, err)
	}
	if err != nil {
		return nil, err
	}
	return &Listener{TCPListener: l.(*net.TCPListener), conns: map[net.Conn]struct{}{}}, nil
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &trackedConn{Conn: c, listener: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errors.Join(net.ErrClosed, c.Close())
	}
	l.conns[tracked] = struct{}{}
	return tracked, nil
}

// Close stops listening and closes every connection. It may be repeated.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	l.mu.Unlock()
	err := l.TCPListener.Close()
	l.drop()
	return err
}

// drop closes every connection; new ones are still accepted. An error only means that a peer closed first.
func (l *Listener) drop() {
	l.mu.Lock()
	open := l.conns
	l.conns = map[net.Conn]struct{}{}
	l.mu.Unlock()
	for c := range open {
		c.(*trackedConn).Conn.Close()
	}
}

type trackedConn struct {
	net.Conn
	listener *Listener
}

func (c *trackedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// Reachable returns the host:port for clients on this machine.
func (l *Listener) Reachable() string {
	a, ok := l.Addr().(*net.TCPAddr)
	if !ok || !a.IP.IsUnspecified() {
		return l.Addr().String()
	}
	return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: a.Port}).String()
}
