// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"net"
	"runtime"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// TestStopLeavesNothing is not parallel: it checks all goroutines of the process, and the parallel tests wait for it.
func TestStopLeavesNothing(t *testing.T) {
	dir := newDataDir(t)
	c := startCloud(t, favouritecloud.Config{DataDir: dir})
	create(t, c.databases, database.CreateInstanceInput{Name: "kept", FancinessLevel: 10})
	create(t, c.databases, database.CreateInstanceInput{Name: "half-created", FancinessLevel: 10})
	create(t, c.databases, database.CreateInstanceInput{Name: "deleted", FancinessLevel: 10})
	c.awaitOnline(t, "kept")
	remove(t, c.databases, "deleted")
	c.stop()

	if left := serversIn(t, dir); len(left) > 0 {
		t.Errorf("servers are left: %v", left)
	}
	listener, err := net.Listen("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		t.Fatalf("port is left: %v", err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "goroutines to end", func() string {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		for stack := range strings.SplitSeq(string(stacks), "\n\n") {
			if strings.Contains(stack, "favouritecloud/internal/") || strings.Contains(stack, "favouritecloud.(*Server)") {
				return stack
			}
		}
		return ""
	})

	c = startCloud(t, favouritecloud.Config{DataDir: dir}) // The lock is not left either.
	c.awaitOnline(t, "kept")
	c.awaitOnline(t, "half-created")
	c.awaitDeleted(t, databases(), "deleted")
}
