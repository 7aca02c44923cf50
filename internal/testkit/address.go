// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreeAddress returns an unused host:port of this machine for a program that starts later. No other test gets it before this one ends.
// The port is below those of a favourite cloud's servers, of outgoing connections and of listeners that ask for any: one of those could
// take it before the program does.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, count, attempts = 10_300, 3_300, 100
	var err error
	for range attempts {
		address := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(count))
		if err = reserve(t, address); err == nil {
			return address
		}
	}
	t.Fatal(err)
	return ""
}

// reserve fails if the address is in use, or is that of another test. It holds the UDP port of the same number, which no program uses,
// until the test ends: the system gives it to one process only, and frees it if the process dies.
func reserve(t testing.TB, address string) error {
	held, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return errors.Join(err, held.Close())
	}
	t.Cleanup(func() { held.Close() })
	return l.Close()
}
