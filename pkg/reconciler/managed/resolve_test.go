// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

func refersTo(name string) func(*thing.Thing) {
	return func(mg *thing.Thing) { mg.Spec.ForProvider.NeighbourRef = &xpv1.Reference{Name: name} }
}

func TestReferences(t *testing.T) {
	live(t, map[string]act{"client": func(*stage) {}}, func() []moment {
		var next types.NamespacedName
		annotateNext := func(key, value string) act {
			return func(s *stage) { s.patch(next, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)) }
		}
		has := holds("next-outside", func(s *stage) bool { return s.has().Neighbour == "next-outside" })
		return []moment{
			{"nothing is asked of the external system before there is a value (R166, R167)", []act{
				func(s *stage) { s.edit(refersTo(s.prefix + "next")) }, pass, called(""), emitted(managed.ReasonCannotResolve),
				reports("resolving references", "next", "does not exist")}},
			{"nor while the target's creation is not recorded (N36, R167)", []act{func(s *stage) {
				next = s.neighbour("next", func(mg *thing.Thing) {
					meta.SetExternalName(mg, "next-outside")
					mg.Annotations[meta.AnnotationKeyExternalCreatePending] = pending
				})
			}, pass, called(""), reports("resolving references")}},
			{"the value is stored before it is sent, without another write (R161, R165, R42)", []act{
				annotateNext(meta.AnnotationKeyExternalCreateSucceeded, pending), forget, during("Create", func(s *stage) {
					if stored := s.thing().Spec.ForProvider.Neighbour; stored == nil || *stored != "next-outside" {
						s.t.Errorf("when Create is called %v is stored", stored)
					}
				}), pass, has, wrote(4)}}, // metadata, Secret, metadata and status
			{"the value is kept when the target changes (R168)", []act{annotateNext(meta.AnnotationKeyExternalName, "other"), pass, has}},
			{"deletion does not wait for a target that is gone (R173, D47)", []act{func(s *stage) {
				mg := &thing.Thing{}
				mg.Name = next.Name
				strike(s.env, mg)
			}, deleted, pass, sees(gone)}},
		}
	})
}

// onDependent does something to the dependent of a stage.
type onDependent = func(*stage, types.NamespacedName)

// withDependent creates an object that refers to the one on stage, and does something to it.
func withDependent(do ...onDependent) act {
	return func(s *stage) {
		s.pass()
		key := s.neighbour("dependent", refersTo(s.key.Name))
		s.passOver(key)
		for _, d := range do {
			d(s, key)
		}
	}
}

func isDeleted(s *stage, key types.NamespacedName) { s.remove(key) }

func isPaused(s *stage, key types.NamespacedName) {
	s.patch(key, `{"metadata":{"annotations":{"crossplane.io/paused":"true"}}}`)
}

// Objects that refer to one under deletion go first if they are being deleted, too; it does not wait for the others.
func TestDeletionOrder(t *testing.T) {
	cutOff := func(s *stage, key types.NamespacedName) {
		s.patch(key, `{"metadata":{"annotations":{"crossplane.io/external-create-pending":"2030-01-01T00:00:00Z"}}}`)
	}
	stalled := func(s *stage, key types.NamespacedName) {
		s.editStatus(key, func(mg *thing.Thing) { mg.SetConditions(xpv1.Stalled(failure.CreateInterrupted, "")) })
	}
	braked := func(s *stage, key types.NamespacedName) {
		s.editStatus(key, func(mg *thing.Thing) { mg.SetConditions(xpv1.Reconciling(failure.DeletionsPaused, "")) })
	}
	slow := func(s *stage, _ types.NamespacedName) { s.clock = time.Now().Add(5*time.Minute + time.Second) }
	referredTo := func(s *stage, key types.NamespacedName) {
		s.edit(refersTo(key.Name))
		s.pass()
	}
	restarts := func(s *stage, key types.NamespacedName) {
		restarted(s)
		s.passOver(key)
	}
	disorder := func(want bool) act {
		return holds(fmt.Sprintf("an event of disorder: %t", want), func(s *stage) bool {
			return want == slices.Contains(s.events.Take(), managed.ReasonDisorder)
		})
	}
	waits := then(forget, deleted, pass, reports("waits for objects that refer to this one", "dependent"),
		func(s *stage) { s.passOver(types.NamespacedName{Name: s.prefix + "dependent"}) }, pass, sees(gone), disorder(false))
	goesFirst := then(forget, deleted, pass, sees(gone), disorder(true))
	play(t, scripts{
		"one that is being deleted (N32)":                              {withDependent(isDeleted), waits},
		"one that stays (N32)":                                         {withDependent(), forget, deleted, pass, sees(gone), disorder(false)},
		"a paused one (N32)":                                           {withDependent(isPaused, isDeleted), goesFirst},
		"a paused one after a restart (N32)":                           {withDependent(isPaused, isDeleted, restarts), goesFirst},
		"one that needs manual intervention (N32)":                     {withDependent(cutOff, stalled, isDeleted), goesFirst},
		"one whose creation was cut off and heals by itself (N32, N5)": {withDependent(cutOff, isDeleted), waits},
		"one that takes more than five minutes (N32)":                  {withDependent(isDeleted, slow), goesFirst},
		"one whose deletion is paused for long (N39)":                  {withDependent(isDeleted, braked, slow), waits},
		"one that the deleted object refers to itself (N32)":           {withDependent(referredTo, isDeleted), goesFirst},
	})
}

// What a deleted object refers to may be of a kind that may not be listed, which a cache tries for ever.
func TestDeletionBehindUnreadableReference(t *testing.T) {
	goes := func(given ...act) []act {
		return append(given, edit(refersTo("unreadable")), finalizer, with(managed.WithTimeout(2*time.Second)), func(s *stage) {
			s.wrap = func(c client.Client) client.Client {
				return filtered{Client: c, get: func(ctx context.Context, key client.ObjectKey) error {
					if key.Name == "unreadable" {
						<-ctx.Done()
					}
					return ctx.Err()
				}}
			}
		}, deleted, pass, sees(gone))
	}
	play(t, scripts{
		"an abandoned one (N31, R173)": goes(annotate(meta.AnnotationKeyReconciliationPaused, "true"),
			annotate(meta.AnnotationKeyOrphanOnDelete, "true")),
		"an orphan (R57, R173)": goes(allow("Observe")),
		"another (R53, R173)":   goes(),
	})
}

// atWork restarts as a controller that runs does. It lists only the objects of the stage: those of others are unknown, too.
func atWork(s *stage) {
	s.wrap = func(c client.Client) client.Client {
		return filtered{Client: c, list: func(all client.ObjectList) {
			if things, ok := all.(*thing.ThingList); ok {
				things.Items = slices.DeleteFunc(things.Items, func(o thing.Thing) bool { return !strings.HasPrefix(o.Name, s.prefix) })
			}
		}}
	}
	restarted(s)
	s.begin()
	s.must(s.reconciler.Wakeups().Start(s.whole.Context(), s.newQueue()))
}

// Objects under deletion that a process that has just started has not observed yet, each of which may refer to any other.
func TestStrangers(t *testing.T) {
	other := func(name string) act { return func(s *stage) { s.passOver(s.neighbour(name, nil)) } }
	remove := func(name string) act {
		return func(s *stage) { s.remove(types.NamespacedName{Name: s.prefix + name}) }
	}
	passOver := func(name string) act {
		return func(s *stage) { s.passOver(types.NamespacedName{Name: s.prefix + name}) }
	}
	waits := then(deleted, pass, reports("Deletion waits", "references"))
	var many []act
	for i := range 6 {
		many = append(many, other(fmt.Sprint("later-", i)), remove(fmt.Sprint("later-", i)))
	}
	unchanged := func(s *stage) {
		s.writes = nil
		s.play(passes(6), wrote(0))
	}
	play(t, scripts{
		"one deleted after another deletion (N32)": {withDependent(), now, other("other"), atWork, remove("other"), passOver("other"),
			remove("dependent"), waits},
		"one that was paused when it was observed (N32)": {withDependent(isPaused), now, atWork, passOver("dependent"),
			remove("dependent"), waits},
		"one that goes, and one without an external resource (N32)": {withDependent(), now, func(s *stage) {
			s.neighbour("without", func(mg *thing.Thing) { mg.Finalizers = []string{"test.bowline.dev/other"} })
		}, atWork, remove("dependent"), remove("without"), waits, func(s *stage) {
			mg := &thing.Thing{}
			mg.Name = s.prefix + "dependent"
			strike(s.env, mg)
		}, pass, sees(gone)},
		"the user sees the same one each time (N32, N9)": {withDependent(), now, then(many...), remove("dependent"), atWork,
			waits, unchanged, reports("dependent")},
	})
}

// filtered is a client that does something before each Get and after each List.
type filtered struct {
	client.Client
	get  func(context.Context, client.ObjectKey) error
	list func(client.ObjectList)
}

func (f filtered) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if f.get != nil {
		if err := f.get(ctx, key); err != nil {
			return err
		}
	}
	return f.Client.Get(ctx, key, o, options...)
}

func (f filtered) List(ctx context.Context, all client.ObjectList, options ...client.ListOption) error {
	err := f.Client.List(ctx, all, options...)
	if f.list != nil {
		f.list(all)
	}
	return err
}
