// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud"
)

// A cloud that fails, or beside which something fails, leaves its servers to the next one.
func TestFailureKeepsServers_N68(t *testing.T) {
	t.Parallel()
	c, e := startCloud(t, favouritecloud.Config{}), databases()
	c.create(t, e, "kept")
	c.awaitOnline(t, e, "kept")
	before := serversIn(t, c.dir)
	expectServers := func(when string) {
		t.Helper()
		if after := serversIn(t, c.dir); !slices.Equal(before, after) {
			t.Errorf("%s, servers %v are %v", when, before, after)
		}
		if url, err := favouritecloud.ReadEndpoint(c.dir); err != nil || url != c.url {
			t.Errorf("%s, commands find the cloud at %q: %v", when, url, err)
		}
	}
	c.keep()
	c.stop()
	expectServers("after a failure beside the cloud")
	if err := os.Mkdir(filepath.Join(c.dir, "endpoint.new"), 0o700); err != nil { // as on a full disk, the file cannot be written
		t.Fatal(err)
	}
	moved, err := favouritecloud.New(favouritecloud.Config{DataDir: c.dir, Listen: "127.0.0.2:0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := moved.Run(t.Context()); err == nil {
		t.Error("a cloud runs whose address is not stored")
	}
	expectServers("after a failed start")
	c = startCloud(t, favouritecloud.Config{DataDir: c.dir}) // writes no address that is stored
	c.awaitOnline(t, e, "kept")
	expectServers("after the next start")
}
