// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

// The fence of a lease knows until when others respect it, whatever the elections of this process believe.
func TestLeaseFence_N87(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	lock, err := newLease(env.Config, logr.Discard(), env.Namespace, "leader")
	if err != nil {
		t.Fatal(err)
	}
	record := func(holder string) resourcelock.LeaderElectionRecord {
		return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: int(duration.Seconds()), AcquireTime: metav1.Now(), RenewTime: metav1.Now()}
	}
	for _, step := range []struct {
		name string
		do   func() error
		held bool
	}{
		{"it was never held", func() error { return nil }, false},
		{"it is acquired", func() error { return lock.Create(t.Context(), record(lock.Identity())) }, true},
		{"another process may have taken over", func() error {
			past := time.Now().Add(-time.Second)
			lock.until.Store(&past)
			return nil
		}, false},
		{"it is renewed", func() error { return lock.Update(t.Context(), record(lock.Identity())) }, true},
		{"it is released", func() error { return lock.Update(t.Context(), record("")) }, false},
		{"a renewal fails", func() error {
			failed := lock.Create(t.Context(), record(lock.Identity()))
			if failed == nil {
				return errors.New("the lease is created twice")
			}
			return nil
		}, false},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if err := lock.Fence(); (err == nil) != step.held {
			t.Errorf("%s: held: %t, want %t: %v", step.name, err == nil, step.held, err)
		}
	}
}
