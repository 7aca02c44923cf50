// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgres

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Ports are taken from below the range from which Linux takes the ports of outgoing connections (32768 and up), so
// that a server's port is rarely lost while the server is down.
const (
	firstPort = 20000
	endPort   = 32768
)

// FreePort returns a port of Host on which nobody listens and that is not refused by taken.
func FreePort(taken func(port int) bool) (int, error) {
	const attempts = 1000
	for range attempts {
		port := firstPort + rand.IntN(endPort-firstPort)
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
