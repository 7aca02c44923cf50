// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreeAddress returns an unused host:port of this machine for a program that starts later. The port is below those that systems
// give to outgoing connections and to listeners that ask for any: one of those could take it before the program does.
func FreeAddress(t testing.TB) string {
	t.Helper()
	const first, count, attempts = 20_000, 10_000, 100
	var err error
	for range attempts {
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(count))); err == nil {
			defer l.Close()
			return l.Addr().String()
		}
	}
	t.Fatal(err)
	return ""
}
