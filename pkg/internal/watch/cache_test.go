// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// A staleCache waits for an informer that it does not have any more at the next call.
type staleCache struct {
	cache.Cache
	calls int
}

func (c *staleCache) WaitForCacheSync(ctx context.Context) bool {
	if c.calls++; c.calls > 1 {
		return true
	}
	<-ctx.Done()
	return false
}

// A kind that is uninstalled while controllers start does not keep them from starting.
func TestRemovedInformerIsNotAwaited(t *testing.T) {
	t.Parallel()
	stale := &staleCache{}
	c := &onceSynced{Cache: stale}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if c.WaitForCacheSync(ended) {
		t.Error("it is synced at the end of the context")
	}
	for range 2 {
		if !c.WaitForCacheSync(t.Context()) || stale.calls != 2 {
			t.Errorf("it is not synced after %d calls", stale.calls)
		}
	}
}
