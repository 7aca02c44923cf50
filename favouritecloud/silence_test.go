// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"slices"
	"syscall"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// A server that hangs is reported, also after a restart of the cloud, and neither restarted nor killed.
func TestSilentServerIsReported(t *testing.T) {
	forEachEngine(t, func(t *testing.T, e engine) {
		c := spawnCloud(t, newDataDir(t))
		password := c.create(t, e, "orders")
		online := c.awaitOnline(t, e, "orders")
		e.ask(t, online, password, e.write)
		before := serversIn(t, c.dir)
		signal := func(sig syscall.Signal) {
			if err := syscall.Kill(before[0], sig); err != nil {
				t.Fatal(err)
			}
		}
		expectSame := func() {
			expectKept(t, c, e, online, password)
			if after := serversIn(t, c.dir); !slices.Equal(before, after) {
				t.Errorf("the server was restarted: %v became %v", before, after)
			}
		}

		signal(syscall.SIGSTOP)
		defer signal(syscall.SIGCONT) // else its cloud waits for its end
		c.await(t, e, "orders", sdk.StatusFailed, "does not accept connections")
		signal(syscall.SIGCONT)
		expectSame()

		signal(syscall.SIGSTOP)
		c.kill()
		c = spawnCloud(t, c.dir)
		c.await(t, e, "orders", sdk.StatusFailed, "")
		signal(syscall.SIGCONT)
		expectSame()
	})
}
