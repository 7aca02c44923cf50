// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// Loopback is the only address that servers listen on.
const Loopback = "127.0.0.1"

// PortRange holds the ports from First up to, but not including, End. Each service has its own, so that it cannot take the
// port of another service's server that is down. All ranges lie below that of outgoing connections of Linux (32768 and up),
// so that a server rarely loses its port while it is down.
type PortRange struct{ First, End int }

// Port ranges of the services.
var (
	DatabasePorts = PortRange{First: 20000, End: 26384}
	CachePorts    = PortRange{First: 26384, End: 32768}
)

// Free returns a random port of the range that is not in use and not taken.
func (r PortRange) Free(taken func(port int) bool) (int, error) {
	const attempts = 1000
	for range attempts {
		port := r.First + rand.IntN(r.End-r.First)
		if !taken(port) && IsFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("finding a free port on %s: all %d ports that were tried are in use", Loopback, attempts)
}

// IsFree reports whether a server could listen on the port.
func IsFree(port int) bool {
	l, err := net.Listen("tcp", Address(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// Address returns the address of a port of this machine.
func Address(port int) string { return net.JoinHostPort(Loopback, strconv.Itoa(port)) }
