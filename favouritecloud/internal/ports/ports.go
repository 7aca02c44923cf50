// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ports chooses the TCP ports that servers listen on.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Host is the only address that servers listen on.
const Host = "127.0.0.1"

// A Range holds the ports from First up to, but not with, End. Services have ranges of their own, so that none takes the
// port of another's server that is down. All lie below the range from which Linux takes the ports of outgoing connections
// (32768 and up), so that a server's port is rarely lost while the server is down.
type Range struct{ First, End int }

// Databases is the range of PostgreSQL servers.
func Databases() Range { return Range{First: 20000, End: 26384} }

// Caches is the range of Redis servers.
func Caches() Range { return Range{First: 26384, End: 32768} }

// Free returns a port of the range on which nobody listens and that is not refused by taken.
func (r Range) Free(taken func(port int) bool) (int, error) {
	const attempts = 1000
	for range attempts {
		port := r.First + rand.IntN(r.End-r.First)
		if !taken(port) && IsFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("finding a free port on %s: %w", Host, errors.New("all that were tried are taken"))
}

// IsFree reports whether a server could listen on the port of Host.
func IsFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(Host, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}
