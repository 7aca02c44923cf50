// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// listener knows its connections, so that closing it ends them too. The server closes it when every request but watches
// has been answered; net/http would then wait a second for peers to say goodbye.
type listener struct {
	*net.TCPListener
	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

func listen(ctx context.Context, address string) (*listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is taken by another process; choose another port, or 0 for a free one: %w", address, err)
	}
	if err != nil {
		return nil, err
	}
	return &listener{TCPListener: l.(*net.TCPListener), conns: map[net.Conn]struct{}{}}, nil
}

func (l *listener) Accept() (net.Conn, error) {
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
func (l *listener) Close() error {
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

// drop closes every connection; new ones may still come. Errors say only that a peer was faster.
func (l *listener) drop() {
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
	listener *listener
}

func (c *trackedConn) Close() error {
	c.listener.mu.Lock()
	delete(c.listener.conns, c)
	c.listener.mu.Unlock()
	return c.Conn.Close()
}

// reachable returns the host:port under which clients on this machine reach a listener's address.
func reachable(address net.Addr) string {
	a, ok := address.(*net.TCPAddr)
	if !ok || !a.IP.IsUnspecified() {
		return address.String()
	}
	return (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: a.Port}).String()
}
