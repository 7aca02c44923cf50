// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import "testing"

func TestFree(t *testing.T) {
	t.Parallel()
	for _, r := range []PortRange{DatabasePorts, CachePorts} {
		first, err := r.Free(func(int) bool { return false })
		if err != nil || first < r.First || first >= r.End {
			t.Fatalf("got %d, %v", first, err)
		}
		if _, err := r.Free(func(int) bool { return true }); err == nil {
			t.Error("found a port though all are taken")
		}
	}
	if DatabasePorts.End > CachePorts.First {
		t.Error("services may choose the same port")
	}
}
