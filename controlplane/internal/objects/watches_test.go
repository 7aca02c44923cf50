// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// A coldCache refuses watches as one that is being filled.
type coldCache struct {
	storage.Interface
	refusals int
	then     error
}

func (c *coldCache) Watch(context.Context, string, storage.ListOptions) (watch.Interface, error) {
	if c.refusals--; c.refusals >= 0 {
		return nil, apierrors.NewTooManyRequests("storage is (re)initializing", 1)
	}
	return watch.NewEmptyWatch(), c.then
}

func TestEarlyWatchWaits(t *testing.T) {
	const never = 1 << 30
	other := errors.New("other")
	for name, tc := range map[string]struct {
		cache   coldCache
		stopped bool
		want    func(error) bool
	}{
		"the cache is ready":       {want: func(err error) bool { return err == nil }},
		"the cache becomes ready":  {cache: coldCache{refusals: 100}, want: func(err error) bool { return err == nil }},
		"another refusal":          {cache: coldCache{refusals: 1, then: other}, want: func(err error) bool { return errors.Is(err, other) }},
		"the cache is never ready": {cache: coldCache{refusals: never}, want: apierrors.IsTooManyRequests},
		"the request is given up":  {cache: coldCache{refusals: never}, stopped: true, want: func(err error) bool { return errors.Is(err, context.Canceled) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if tc.stopped {
					cancel()
				}
				_, err := awaiting{&tc.cache}.Watch(ctx, "", storage.ListOptions{})
				if !tc.want(err) {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}
