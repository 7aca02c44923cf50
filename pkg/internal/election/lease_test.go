// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package election

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

// participant returns the leases of a process in the namespace of a test.
func participant(t *testing.T, env *controlplanetest.Env, names ...string) *Leases {
	t.Helper()
	leases, err := newLeases(env.Config, logr.Discard(), DefaultDuration, env.Namespace, names...)
	if err != nil {
		t.Fatal(err)
	}
	return leases
}

func record(holder string) resourcelock.LeaderElectionRecord {
	return resourcelock.LeaderElectionRecord{HolderIdentity: holder, LeaseDurationSeconds: int(DefaultDuration.Seconds()), AcquireTime: metav1.Now(), RenewTime: metav1.Now()}
}

// take is what an election does to acquire or renew: it reads the leases and, where nobody else holds one, stores its record.
func take(t *testing.T, l *Leases) (holder string, err error) {
	t.Helper()
	read, _, err := l.Get(t.Context())
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		t.Fatal(err)
	case err == nil && read.HolderIdentity != "" && read.HolderIdentity != l.Identity():
		return read.HolderIdentity, nil
	}
	return l.Identity(), l.Update(t.Context(), record(l.Identity()))
}

// The fence knows until when others respect the leases, whatever the elections of this process believe.
func TestLeaseFence_N87(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	leases, rival := participant(t, env, "one", "two"), participant(t, env, "two")
	acquire := func() error { _, err := take(t, leases); return err }
	for _, step := range []struct {
		name string
		do   func() error
		held bool
	}{
		{"they were never held", func() error { return nil }, false},
		{"they are acquired", acquire, true},
		{"another process may have taken over", func() error {
			past := time.Now().Add(-time.Second)
			leases.until.Store(&past)
			return nil
		}, false},
		{"they are renewed", acquire, true},
		{"they are released", func() error { return leases.Update(t.Context(), record("")) }, false},
		{"another process was first", func() error {
			if _, _, err := leases.Get(t.Context()); err != nil {
				return err
			}
			if _, err := take(t, rival); err != nil {
				return err
			}
			if leases.Update(t.Context(), record(leases.Identity())) == nil {
				return errors.New("a lease was taken from its holder")
			}
			return nil
		}, false},
	} {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if err := leases.Fence(); (err == nil) != step.held {
			t.Errorf("%s: held: %t, want %t: %v", step.name, err == nil, step.held, err)
		}
	}
	if holder, err := take(t, participant(t, env, "one")); err != nil || holder == leases.Identity() {
		t.Errorf("the leases that were taken in vain are still held: %v", err)
	}
}

// Processes exclude each other where the sets of their controllers overlap, whichever lease is first.
func TestLeasesOfOverlappingSets(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		held, wanted []string
		free         bool
	}{
		"the same":           {[]string{"core", "sql"}, []string{"sql", "core"}, false},
		"a part":             {[]string{"core", "fcp", "sql"}, []string{"sql"}, false},
		"one more":           {[]string{"sql"}, []string{"core", "fcp", "sql"}, false},
		"one in common":      {[]string{"core", "fcp"}, []string{"fcp", "sql"}, false},
		"none in common":     {[]string{"core", "sql"}, []string{"fcp"}, true},
		"names that contain": {[]string{"sql"}, []string{"sql-2"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := controlplanetest.New(t)
			holder, other := participant(t, env, tc.held...), participant(t, env, tc.wanted...)
			if _, err := take(t, holder); err != nil {
				t.Fatal(err)
			}
			by, err := take(t, other)
			if err != nil || (by == other.Identity()) != tc.free {
				t.Errorf("held by %s: %v; want it free: %t", by, err, tc.free)
			}
			if err := holder.Update(t.Context(), record("")); err != nil {
				t.Fatal(err)
			}
			if by, err := take(t, other); err != nil || by != other.Identity() || other.Fence() != nil {
				t.Errorf("held by %s after the release: %v", by, err)
			}
		})
	}
}

// An election takes over what has not changed for a while: the content must change with each lease that another process renews.
func TestLeasesChangeWithEach(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	standby, core, sql := participant(t, env, "core", "sql"), participant(t, env, "core"), participant(t, env, "sql")
	seen := map[string]bool{}
	for i, renew := range []*Leases{core, sql, core, sql} {
		if _, _, err := renew.Get(t.Context()); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
		later := record(renew.Identity())
		later.RenewTime = metav1.NewTime(later.RenewTime.Add(time.Duration(i) * time.Second)) // their precision
		if err := renew.Update(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		first, content, err := standby.Get(t.Context())
		if err != nil || seen[string(content)] || first.HolderIdentity == standby.Identity() || first.HolderIdentity == "" {
			t.Errorf("renewal %d is not seen: %v: %s", i, err, content)
		}
		seen[string(content)] = true
	}
}
