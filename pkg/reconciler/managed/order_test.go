// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A process that starts while objects are being deleted looks at all of them before it deletes what they refer to.
func TestDeletionOrderAfterRestart(t *testing.T) {
	t.Parallel()
	const pairs = 8 // so that the right order is hardly luck
	env := controlplanetest.NewWithScheme(t, newScheme(t))
	only := map[string]string{"test": strings.Trim(env.Prefix, "-")}
	system := thing.NewSystem()
	run := func(t *testing.T, o ...managed.ReconcilerOption) {
		o = append(o, managed.WithPollInterval(time.Hour))
		runController(t, env.Config, system, cache.ByObject{Label: labels.SelectorFromSet(only)}, o...)
	}
	var all []*thing.Thing
	add := func(name string, change func(*thing.Thing)) {
		mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: env.Prefix + name, Labels: only}}
		mg.Spec.ForProvider.Size = 1
		change(mg)
		if err := env.Client.Create(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { strike(env, mg.Name) })
		all = append(all, mg)
	}
	t.Run("one process creates them", func(t *testing.T) {
		run(t)
		for i := range pairs {
			add(fmt.Sprint("target-", i), func(*thing.Thing) {})
			add(fmt.Sprint("dependent-", i), refersTo(fmt.Sprint(env.Prefix, "target-", i)))
		}
		for _, mg := range all {
			eventually(t, env, mg, "Ready", func() bool { return mg.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonAvailable })
		}
	})
	for _, mg := range all {
		if err := env.Client.Delete(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("another one deletes them, dependents first (N32, N5)", func(t *testing.T) {
		var mu sync.Mutex
		var order []string
		run(t, managed.WithTypedExternalConnecter[*thing.Thing](altering{System: system, deleted: func(mg *thing.Thing) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, strings.TrimPrefix(mg.Name, env.Prefix))
		}}))
		env.Eventually(t, "all are gone", func(ctx context.Context) error {
			var list thing.List
			if err := env.Client.List(ctx, &list, client.MatchingLabels(only)); err != nil {
				return err
			}
			if len(list.Items) > 0 {
				return fmt.Errorf("%d are left", len(list.Items))
			}
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		for i := range pairs {
			if slices.Index(order, fmt.Sprint("dependent-", i)) > slices.Index(order, fmt.Sprint("target-", i)) {
				t.Errorf("target %d was deleted first: %v", i, order)
			}
		}
	})
}

// What a paused object refers to is known after a restart, too, so that the user is told.
func TestPausedDependentAfterRestart(t *testing.T) {
	t.Parallel()
	t.Run("it is named in an event (N32)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.pass()
		key := s.neighbour("dependent", refersTo(s.key.Name))
		s.passOver(key)
		s.patch(key, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
		s.remove(key)
		s.restart(s.env.Config)
		s.passOver(key)
		s.delete()
		s.events.Take()
		s.pass()
		if told := s.events.Take(); s.state() != "gone" || !slices.Contains(told, managed.ReasonDisorder) {
			t.Errorf("the user sees %s, told %v", s.state(), told)
		}
	})
}

// What a deleted object refers to may be of a kind that may not be listed, which a cache tries for ever.
func TestDeletionBehindUnreadableReference(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*thing.Thing){
		"an abandoned one (N31, R173)": func(mg *thing.Thing) {
			mg.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true", meta.AnnotationKeyOrphanOnDelete: "true"}
		},
		"an orphan (R57, R173)": func(mg *thing.Thing) {
			mg.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
		},
		"another (R53, R173)": func(*thing.Thing) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, func(mg *thing.Thing) {
				refersTo("unreadable")(mg)
				meta.AddFinalizer(mg, managed.Finalizer)
				change(mg)
			})
			c, err := client.NewWithWatch(s.env.Config, client.Options{Scheme: newScheme(t)})
			if err != nil {
				t.Fatal(err)
			}
			blocking := interceptor.NewClient(c, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, o2 ...client.GetOption) error {
					if key.Name == "unreadable" {
						<-ctx.Done()
						return ctx.Err()
					}
					return c.Get(ctx, key, o, o2...)
				},
			})
			s.options = append(s.options, managed.WithClient(blocking), managed.WithTimeout(4*time.Second))
			s.restart(s.env.Config)
			s.delete()
			s.pass()
			if got := s.state(); got != "gone" {
				t.Errorf("the user sees %s: %s", got, s.message())
			}
		})
	}
}

// restartAtWork restarts as a controller that runs does. It lists only the objects of the test: those of other tests are
// strangers, too.
func (s *stage) restartAtWork() {
	t := s.t
	t.Helper()
	c, err := client.NewWithWatch(s.env.Config, client.Options{Scheme: newScheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	own := interceptor.NewClient(c, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, all client.ObjectList, o ...client.ListOption) error {
			err := c.List(ctx, all, o...)
			if things, ok := all.(*thing.List); ok {
				things.Items = slices.DeleteFunc(things.Items, func(o thing.Thing) bool { return !strings.HasPrefix(o.Name, s.env.Prefix) })
			}
			return err
		},
	})
	s.options = append(s.options, managed.WithClient(own))
	s.restart(s.env.Config)
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	if err := s.reconciler.Wakeups().Start(t.Context(), q); err != nil {
		t.Fatal(err)
	}
}

// Objects under deletion that a process that has just started did not look at yet, each of which may refer to any other.
func TestStrangers(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (s *stage, dependent types.NamespacedName) {
		t.Parallel()
		s = newStage(t, nil)
		s.pass()
		dependent = s.neighbour("dependent", refersTo(s.key.Name))
		s.passOver(dependent)
		s.clock = time.Now()
		return s, dependent
	}
	wantWait := func(t *testing.T, s *stage) {
		t.Helper()
		s.delete()
		s.pass()
		if s.state() == "gone" {
			t.Fatal("it was deleted before what refers to it")
		}
		s.wantMessage("Deletion waits", "references")
	}
	t.Run("one deleted after another deletion (N32)", func(t *testing.T) {
		s, dependent := begin(t)
		other := s.neighbour("other", nil)
		s.passOver(other)
		s.restartAtWork()
		s.remove(other)
		s.passOver(other)
		s.remove(dependent)
		wantWait(t, s)
	})
	t.Run("one that was paused when it was looked at (N32)", func(t *testing.T) {
		s, dependent := begin(t)
		s.patch(dependent, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
		s.restartAtWork()
		s.passOver(dependent)
		s.remove(dependent)
		wantWait(t, s)
	})
	t.Run("one that goes, and one without an external resource (N32)", func(t *testing.T) {
		s, dependent := begin(t)
		without := s.neighbour("without", func(mg *thing.Thing) { mg.Finalizers = []string{"test.bowline.dev/other"} })
		s.restartAtWork()
		s.remove(dependent)
		s.remove(without)
		wantWait(t, s)
		strike(s.env, dependent.Name)
		s.pass()
		if got := s.state(); got != "gone" {
			t.Errorf("the user sees %s: %s", got, s.message())
		}
	})
	t.Run("the user is told of the same one each time (N32, N9)", func(t *testing.T) {
		s, dependent := begin(t)
		for i := range 6 {
			other := s.neighbour(fmt.Sprint("later-", i), nil)
			s.passOver(other)
			s.remove(other)
		}
		s.remove(dependent)
		s.restartAtWork()
		wantWait(t, s)
		version := s.thing().ResourceVersion
		for range 6 {
			s.pass()
			if got := s.thing().ResourceVersion; got != version {
				t.Fatalf("the status was written again: %s", s.message())
			}
		}
		s.wantMessage(dependent.Name)
	})
}
