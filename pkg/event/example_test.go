// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package event_test

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/event"
)

// A controller tells the people who watch an object what it could not do, in words that stay the same while it tries again.
func Example() {
	tell := func(ctx context.Context, mgr manager.Manager, about *corev1.ConfigMap) error {
		r := event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "managed/bucket.storage.example.org")
		return r.Event(ctx, about, event.Warning("CannotCreateExternalResource", errors.New("the quota of 10 buckets is used up")))
	}
	_ = tell
}
