// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testkit is what tests of this module share: a manager whose reconcilers the test calls, recorded events, and waits that
// report why they still wait. Its neighbours below have the rest:
//
//	fault    counts the requests of a process and injects a fault at one of them
//	scenario runs scripts of events with a fault at every request
//	process  starts, kills and stops programs
//	thing    a managed kind with a Go type, and a vendor in memory with knobs for its next error
//	shop     kinds of claims and classes, as the generator completes them
//	kinds    provider configurations and their users, in both scopes
package testkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	waitLimit   = 50 * time.Second      // for slow machines; no poll with the default interval comes as early
	shortWait   = 20 * time.Millisecond // between the first checks; later ones are up to longWait apart
	longWait    = 100 * time.Millisecond
	logInterval = time.Second
	// promptRounds are enough for one that a busy machine does not disturb.
	promptRounds = 10
	// timeToReport is what a test needs to report a wait in vain, and to clean up, before its binary is ended.
	timeToReport = 30 * time.Second
)

// Eventually calls check until it returns nil, and fails the test with its last error after fifty seconds. It logs every new reason
// why it still waits, at most one per second.
func Eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	Within(t, waitLimit, what, check)
}

// Within is Eventually with a limit of its own. The limit is shorter where the test binary would be ended before it.
func Within(t testing.TB, limit time.Duration, what string, check func() error) {
	t.Helper()
	if test, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if end, bounded := test.Deadline(); bounded {
			limit = min(limit, time.Until(end)-timeToReport)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	begin, logged, reason := time.Now(), time.Now(), ""
	err := Poll(ctx, func() error {
		err := check()
		if err != nil && err.Error() != reason && time.Since(logged) >= logInterval {
			logged, reason = time.Now(), err.Error()
			t.Logf("after %s still waiting for: %s: %v", time.Since(begin).Round(time.Second), what, err)
		}
		return err
	})
	if err != nil {
		t.Fatalf("waited %s for: %s: %v", time.Since(begin).Round(time.Millisecond), what, err)
	}
}

// Promptly fails the test unless one of ten rounds, which return how long something took, takes at most limit. A busy machine may be late;
// code that waits for a poll is late in each round.
func Promptly(t testing.TB, limit time.Duration, round func(n int) time.Duration) {
	t.Helper()
	best := round(0)
	for n := 1; n < promptRounds && best > limit; n++ {
		best = min(best, round(n))
	}
	if best > limit {
		t.Errorf("the fastest of %d rounds took %v, want %v", promptRounds, best, limit)
	}
}

// Poll calls check until it returns nil or ctx ends, and returns its last error. An error that the end of ctx caused replaces no
// other.
func Poll(ctx context.Context, check func() error) error {
	var last error
	for wait := shortWait; ; wait = min(wait+wait/8, longWait) {
		err := check()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(wait):
		}
	}
}

// Background runs something until stop is called, and returns when it is ready.
func Background(ctx context.Context, run, ready func(context.Context) error) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx)
		cancel() // what has ended never becomes ready
	}()
	stop = func() error {
		cancel()
		return <-ended
	}
	if err := ready(ctx); err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

// Events is an event.Recorder that keeps events in memory.
type Events struct {
	mu  sync.Mutex
	all []event.Event
}

// Event keeps an event.
func (e *Events) Event(_ context.Context, _ client.Object, recorded event.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, recorded)
	return nil
}

// All returns the events so far.
func (e *Events) All() []event.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// Take returns the reasons of the events so far, and forgets the events.
func (e *Events) Take() (reasons []event.Reason) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, recorded := range e.all {
		reasons = append(reasons, recorded.Reason)
	}
	e.all = nil
	return reasons
}

// NewManager returns a manager that is not started, for reconcilers that the test calls. Its client has no cache, so that each
// reconcile sees what the last one wrote.
func NewManager(t testing.TB, config *rest.Config, o manager.Options) manager.Manager {
	t.Helper()
	o.Metrics.BindAddress = "0"
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.NewClient = func(config *rest.Config, o client.Options) (client.Client, error) {
		o.Cache = nil
		return client.New(config, o)
	}
	mgr, err := manager.New(config, o)
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// Settled is a check that reads a managed resource: whether it was reconciled in its present form and is Ready.
func Settled(c client.Reader, mg resource.Managed) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		return IsSettled(mg)
	}
}

// IsSettled returns nil if a managed resource was reconciled in its present form and is Ready.
func IsSettled(mg resource.Managed) error {
	ready, synced := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced)
	if ready.Status == corev1.ConditionTrue && synced.Status == corev1.ConditionTrue && synced.ObservedGeneration == mg.GetGeneration() {
		return nil
	}
	return fmt.Errorf("%s: generation %d; Ready: %s %s; Synced for generation %d: %s %s", mg.GetName(), mg.GetGeneration(), ready.Reason,
		ready.Message, synced.ObservedGeneration, cmp.Or(synced.Reason, "never"), synced.Message)
}

// Gone is a check that reads an object: whether it is deleted.
func Gone(c client.Reader, o client.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			return fmt.Errorf("%s still exists, with finalizers %v and annotations %v", o.GetName(), o.GetFinalizers(), o.GetAnnotations())
		}
		return client.IgnoreNotFound(err)
	}
}

// Remove deletes an object whatever its finalizers, unless it is deleted already.
func Remove(ctx context.Context, c client.Client, o client.Object) error {
	err := c.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	return errors.Join(client.IgnoreNotFound(err), client.IgnoreNotFound(c.Delete(ctx, o)))
}
