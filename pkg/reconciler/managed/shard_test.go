// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// An object of another process is left alone, and taken over as it is then.
func TestShards(t *testing.T) {
	shard := func(mine *bool) act {
		return with(managed.WithShard(func(context.Context, resource.Managed) (bool, error) { return *mine, nil }))
	}
	becomes := func(mine *bool, value bool) act { return func(*stage) { *mine = value } }
	left, taken, given, kept := false, false, true, true
	play(t, scripts{
		"it is not created":             {shard(&left), pass, calls("Observe", 0), calls("Create", 0), resources(0)},
		"it is taken over":              {shard(&taken), pass, resources(0), becomes(&taken, true), pass, resources(1), sees(ready)},
		"it is given away, not deleted": {shard(&given), pass, sees(ready), becomes(&given, false), size(2), pass, deleted, pass, calls("Update", 0), calls("Delete", 0), resources(1)},
		"it stays until a result that only this process knows is stored": {shard(&kept), inBackground, pass, becomes(&kept, false), later(time.Second), passes(3),
			calls("Create", 1), resources(1), sees(ready)},
	})
}
