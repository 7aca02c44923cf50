// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnchanged(t *testing.T) {
	const smaps = `00400000-00500000 r-xp 00000000 08:01 12 /usr/bin/bowline
Rss:                 900 kB
Anonymous:             0 kB
LazyFree:              0 kB
00500000-00600000 r--p 00100000 08:01 12 /usr/bin/bowline
Anonymous:             4 kB
00600000-00700000 r--p 00100000 08:01 12 /usr/bin/bowline
Anonymous:             0 kB
00700000-00800000 rw-p 00200000 08:01 12 /usr/bin/bowline
Anonymous:             0 kB
00800000-00900000 r-xp 00000000 08:01 13 /usr/lib/libc.so
Anonymous:             0 kB
7f0000000000-7f0000100000 r--p 00000000 00:00 0
Anonymous:             0 kB
`
	// Not: pages that were changed, as relocation does; a mapping that may change; those of others.
	want := []mapping{{0x400000, 0x500000}, {0x600000, 0x700000}}
	if diff := cmp.Diff(want, unchanged([]byte(smaps), "/usr/bin/bowline"), cmp.AllowUnexported(mapping{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
