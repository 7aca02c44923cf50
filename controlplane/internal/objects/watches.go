// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

const (
	earlyLimit = 2 * time.Second // a watch that comes before its cache waits at most
	earlyPause = 2 * time.Millisecond
)

// awaiting has a watch wait for its cache, which is there some milliseconds after the first request for a kind. Kubernetes refuses a
// watch until then, and its clients wait for a second before they watch again.
type awaiting struct{ storage.Interface }

func (s awaiting) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	for limit := time.Now().Add(earlyLimit); ; {
		w, err := s.Interface.Watch(ctx, key, o)
		if !apierrors.IsTooManyRequests(err) || time.Now().After(limit) {
			return w, err
		}
		select {
		case <-time.After(earlyPause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
