// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// A Listener closes its connections with itself. The server closes it when all requests but watches are answered; net/http would wait
// another second for its peers.
type Listener struct {
	*net.TCPListener
	conns  sync.Map // of *trackedConn
	closed atomic.Bool
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
	return &Listener{TCPListener: l.(*net.TCPListener)}, nil
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.Accept()
	if err != nil {
		return nil, err
	}
	tracked := &trackedConn{Conn: c, listener: l}
	l.conns.Store(tracked, nil)
	if l.closed.Load() {
		return nil, errors.Join(net.ErrClosed, tracked.Close())
	}
	return tracked, nil
}

// Close stops listening and closes every connection. It may be repeated.
func (l *Listener) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	defer l.drop()
	return l.TCPListener.Close()
}

// drop closes every connection; new ones are still accepted. An error only means that a peer closed first.
func (l *Listener) drop() {
	l.conns.Range(func(c, _ any) bool {
		c.(*trackedConn).Close()
		return true
	})
}

type trackedConn struct {
	net.Conn
	listener *Listener
}

func (c *trackedConn) Close() error {
	c.listener.conns.Delete(c)
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
