// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Who says how often a settled object is looked at: the object, else its client, else the reconciler.
func TestPollInterval(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		annotation string
		client     time.Duration
		options    []managed.ReconcilerOption
		want       time.Duration
	}{
		"a minute by default (R224)":            {want: time.Minute},
		"an option (R224, R48)":                 {options: []managed.ReconcilerOption{managed.WithPollInterval(time.Hour)}, want: time.Hour},
		"the object says so":                    {annotation: "10m", want: 10 * time.Minute},
		"the object asks for too much":          {annotation: "10ms", want: time.Minute},
		"the object asks for nonsense":          {annotation: "often", want: time.Minute},
		"the client chooses":                    {client: 5 * time.Minute, want: 5 * time.Minute},
		"the client does not choose":            {client: -time.Minute, want: time.Minute},
		"the object wins over the client":       {annotation: "10m", client: 5 * time.Minute, want: 10 * time.Minute},
		"nonsense does not win over the client": {annotation: "often", client: 5 * time.Minute, want: 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				mg.Annotations = map[string]string{meta.AnnotationKeyPollInterval: tc.annotation}
			}, tc.options...)
			s.system.Poll = tc.client
			for range 2 {
				if after := s.pass(); after < tc.want-tc.want/10 || after > tc.want+tc.want/10 {
					t.Errorf("comes back after %s, want about %s", after, tc.want)
				}
			}
		})
	}
}

// When an error is tried again, and whether the user is told.
func TestRepetition(t *testing.T) {
	t.Parallel()
	type pass struct {
		at, least, most time.Duration
		told            bool // the message of condition Synced names the error
	}
	for name, tc := range map[string]struct {
		err    error
		work   bool // the object waits for an update
		passes []pass
	}{
		"an error: later each time (R222)": {err: errors.New("out of order"), passes: []pass{
			{most: time.Second, told: true}, {at: time.Second, least: time.Second, most: 2 * time.Second, told: true}}},
		"one that cannot heal: at the poll (R222, O29)": {err: fmt.Errorf("calling: %w", failure.Terminal(errors.New("out of order"))), passes: []pass{
			{least: 54 * time.Second, most: 66 * time.Second, told: true}, {at: time.Minute, least: 54 * time.Second, most: 66 * time.Second, told: true}}},
		"marked as controller-runtime does (R222, O29)": {err: reconcile.TerminalError(errors.New("out of order")), passes: []pass{
			{least: 54 * time.Second, most: 66 * time.Second, told: true}}},
		"too many calls: when asked, quietly for ten seconds (O29)": {err: fmt.Errorf("calling: %w", busy{}), work: true, passes: []pass{
			{least: 4 * time.Second, most: 6 * time.Second}, {at: 9 * time.Second, least: 4 * time.Second, most: 6 * time.Second},
			{at: 10 * time.Second, least: 4 * time.Second, most: 6 * time.Second, told: true}}},
		"too many calls and nothing to do: quietly until the next poll (O29)": {err: fmt.Errorf("calling: %w", busy{}), passes: []pass{
			{least: 4 * time.Second, most: 6 * time.Second}, {at: 59 * time.Second, least: 4 * time.Second, most: 6 * time.Second},
			{at: time.Minute, least: 4 * time.Second, most: 6 * time.Second, told: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.pass()
			if tc.work {
				s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
			}
			start := s.clock
			s.events.Take()
			writes := s.countWrites()
			for _, want := range tc.passes {
				s.clock = start.Add(want.at)
				s.failOnce("Observe", tc.err, nil)
				if after := s.pass(); after < want.least || after > want.most {
					t.Errorf("after %s it comes back after %s, want %s to %s", want.at, after, want.least, want.most)
				}
				told := strings.Contains(s.message(), "out of order") || strings.Contains(s.message(), "too many calls")
				if told != want.told {
					t.Errorf("after %s the message is %q", want.at, s.message())
				}
				if made, _ := s.take(writes); !want.told && len(made) != 0 {
					t.Errorf("after %s it wrote %v", want.at, made)
				}
			}
			if got := s.state(); !strings.HasPrefix(got, "Ready=Available") {
				t.Errorf("the user sees %s (R198)", got)
			}
			s.pass()
			if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || s.message() != "" {
				t.Errorf("recovered, the user sees %s: %s (R196, R200)", got, s.message())
			}
		})
	}
}

// Patience ends with the first answer: the next time that the system is busy begins another ten seconds.
func TestBusyAgain(t *testing.T) {
	t.Parallel()
	t.Run("being busy now and then is no news (O29)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		s.events.Take()
		for range 4 {
			s.failOnce("Observe", busy{}, nil)
			s.pass()
			s.clock = s.clock.Add(6 * time.Second)
			s.pass()
		}
		if told := s.events.Take(); told != nil {
			t.Errorf("events %v", told)
		}
	})
}

// No call outlives the pass.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for verb, reason := range map[string]event.Reason{
		"Connect": managed.ReasonCannotConnect, "Observe": managed.ReasonCannotObserve,
		"Update": managed.ReasonCannotUpdate, "Delete": managed.ReasonCannotDelete,
	} {
		t.Run(verb+" that hangs (R47, R49)", func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil, managed.WithTimeout(300*time.Millisecond))
			s.pass()
			s.events.Take()
			switch verb {
			case "Update":
				s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
			case "Delete":
				s.delete()
			}
			s.system.Hang = verb
			began := time.Now()
			s.pass()
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("the pass took %s", took)
			}
			s.wantMessage(context.DeadlineExceeded.Error())
			if diff := cmp.Diff([]event.Reason{reason}, s.events.Take()); diff != "" {
				t.Errorf("events -want +got:\n%s", diff)
			}
		})
	}
}

// What else brings an object back, or does not.
func TestRequests(t *testing.T) {
	t.Parallel()
	t.Run("a request for an object that is gone ends quietly (R16)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		strike(s.env, s.key.Name)
		if result, err := s.tryPass(); err != nil || result != (reconcile.Result{}) || s.system.TakeCalls() != nil {
			t.Errorf("got %+v, %v", result, err)
		}
	})
	t.Run("a status that could not be written is no success (R17, R199)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.restart(fault.InterceptWrites(s.env.Config, func(request string) (refuse, lose error) {
			if strings.HasSuffix(request, "/status") {
				return errors.New("the API server is away"), nil
			}
			return nil, nil
		}))
		if _, err := s.tryPass(); err == nil {
			t.Error("the pass should be repeated")
		}
	})
	t.Run("somebody else's write is read afresh (R17)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		s.resize(2)
		s.system.Fault = func(verb string) (error, error) {
			if verb == "Update" {
				s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 5 })
			}
			return nil, nil
		}
		s.pass()
		s.system.Fault = nil
		// Not woken: the request is that of the user's write, after which the pass itself wrote nothing.
		if _, err := s.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key}); err != nil {
			t.Fatal(err)
		}
		if have := s.has(); have.Size != 5 || s.thing().Status.AtProvider.Size != 5 {
			t.Errorf("size %d, status %+v", have.Size, s.thing().Status.AtProvider)
		}
	})
	t.Run("our own write brings nothing new (R1, N13)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		s.system.TakeCalls()
		result, err := s.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: s.key})
		if err != nil || s.system.TakeCalls() != nil || result.RequeueAfter <= 0 {
			t.Errorf("got %+v, %v", result, err)
		}
	})
}

// However often an object is asked for, one pass over it runs at a time.
func TestOnePassAtATime(t *testing.T) {
	t.Parallel()
	t.Run("several workers (R46)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		var running, most, passes atomic.Int32
		slow := altering{System: s.system, observed: func(*thing.Thing, *managed.ExternalObservation) {
			most.Store(max(most.Load(), running.Add(1)))
			<-time.After(2 * time.Millisecond)
			running.Add(-1)
			passes.Add(1)
		}}
		options := managed.CacheOptions()
		options.ByObject[&thing.Thing{}] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", s.key.Name)}
		var r *managed.Reconciler
		workers := manager.Options{Scheme: newScheme(t), Cache: options, Controller: config.Controller{MaxConcurrentReconciles: 4}}
		stop := controlplanetest.RunManager(t, s.env.Config, workers, func(mgr manager.Manager) error {
			r = managed.NewReconciler(mgr, resource.ManagedKind(thing.GroupVersionKind), managed.WithTypedExternalConnecter[*thing.Thing](slow))
			return ctrl.NewControllerManagedBy(mgr).Named("one").For(&thing.Thing{}).WatchesRawSource(r.Wakeups()).Complete(r)
		})
		s.env.Eventually(t, "20 passes", func(context.Context) error {
			for range 10 {
				r.WakeNow(s.key)
			}
			if n := passes.Load(); n < 20 {
				return fmt.Errorf("%d passes", n)
			}
			return nil
		})
		stop()
		if n := most.Load(); n != 1 {
			t.Errorf("%d passes at a time", n)
		}
	})
}
