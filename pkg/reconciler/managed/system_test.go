// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// identified serves the external system under an identity, which is empty for one that shows none.
func identified(id string) act { return descended(id, id[strings.LastIndex(id, "/")+1:]) }

// descended serves one whose first original is known.
func descended(id, origin string) act {
	return system(func(s *thing.System) {
		s.Identity, s.Origin = xpv1.ExternalSystem{ID: id, Name: id + ".example.org:5432"}, origin
	})
}

// inSystem has it show one.
func inSystem(s *stage) { s.play(now, identified("a")) }

// moved has the provider configuration lead to another external system, without resources.
func moved(s *stage) { s.play(wiped, identified("b")) }

// movedBack has it lead to the first one again, which still has the resource.
func movedBack(s *stage) { s.play(identified("a"), give(thing.Resource{Size: 1})) }

func recorded(id string) act {
	return object("the status records "+id, func(mg *thing.Thing) bool { return mg.Status.ExternalSystem.ID == id })
}

// becomesB has it lead there while it is called.
func becomesB(s *stage) {
	clear(s.system.Resources)
	s.system.Identity = xpv1.ExternalSystem{ID: "b", Name: "b.example.org:5432"}
}

// An external resource that is not found in another external system than before is neither created there nor taken for gone.
func TestExternalSystemChanged(t *testing.T) {
	const unseen, word = "Ready=CannotObserve Synced=ReconcileError", "was last seen in external system a.example.org:5432 (a)"
	typed := object("a typed failure", func(mg *thing.Thing) bool {
		f, ready := xpv1.FailureOf(mg), mg.GetCondition(xpv1.TypeReady)
		return f.Reason == failure.ExternalSystemChanged && f.Stalled && f.Message != "" && (ready.Status == corev1.ConditionUnknown || mg.DeletionTimestamp != nil)
	})
	inA := then(inSystem, pass, sees(ready), recorded("a"))
	stays := then(sees(unseen), typed, resources(0), calls("Create", 0), recorded("a"), reports(word, "leads to b.example.org:5432 (b)"))
	hides := object("nothing of the other's shows", func(mg *thing.Thing) bool { return mg.Status.AtProvider.Size == 1 })
	isMoved := then(inA, later(time.Minute), moved, forget, pass, stays)
	orphans := then(annotate(meta.AnnotationKeyOrphanOnDelete, "true"), forget, pass, sees(gone), emitted(managed.ReasonOrphaned))
	waits := then(sees("Ready=Deleting Synced=ReconcileError"), typed, calls("Delete", 0), reports(word, "point the ProviderConfig", meta.AnnotationKeyOrphanOnDelete))
	inB := then(pass, sees(ready), resources(1), recorded("b"))
	copied := then(calls("Delete", 0), recorded("copy/a"), reports("the original of that copy"))
	removed := then(deleted, pass, sees(gone), resources(0))
	inCopy := then(inA, identified("copy1/a"), pass, sees(ready), recorded("copy1/a"))
	inOther := then(inCopy, identified("copy2/a"), forget, pass, sees(unseen), typed, reports("another copy of the same original"))
	playBoth(t, scripts{
		"it is not created there, and reported once (N55)": {isMoved, emitted(managed.ReasonCannotObserve), polled, later(time.Minute), nothingNew, stays},
		"after a restart, too (N55)":                       {isMoved, forget, restarted, pass, stays, emitted(), wrote(0)},
		"seen first by another process (N55)":              {inA, restarted, later(time.Minute), moved, forget, pass, stays},
		"what holds data is not called lost (N38, N55)":    {holdsData, isMoved},
		"it recovers with the configuration (N55)":         {isMoved, movedBack, pass, sees(ready), calls("Create", 0), removed},
		"it is restored there (N55)":                       {isMoved, give(thing.Resource{Size: 1}), inB, calls("Create", 0), removed},
		"a person permits it by UID (N55)": {isMoved, forget, permittedByUID, inB, emitted(managed.ReasonOrphaned, managed.ReasonCreated),
			removed},
		"a person permits it by time (N55)": {isMoved, permittedAt(0), inB, nothingNew},
		"a permitted creation that failed is repeated (N55)": {isMoved, permittedByUID, refuse("Create", errors.New("no room left")), try, later(time.Minute), restarted,
			inB},
		"what is gone there needs no permission twice (N55)": {isMoved, permittedByUID, inB, wiped, later(time.Minute), inB},
		"its deletion is held (N55)":                         {isMoved, deleted, pass, waits, restarted, pass, waits, orphans},
		"its deletion is held at once (N55)":                 {inA, moved, deleted, forget, pass, waits, movedBack, pass, sees(gone), resources(0)},
		"a deletion that began is held (N55)": {inA, slowDelete, deleted, pass, moved, forget, pass, waits, movedBack,
			system(func(s *thing.System) { s.SlowDelete = false }), pass, sees(gone), resources(0)},
		"another's has its name there (N55)": {inA, moved, func(s *stage) { s.system.Resources[s.key.Name] = thing.Resource{Size: 7, Owner: "another"} },
			pass, sees(unseen), typed, reports(word), hides, sized(7), deleted,
			pass, sees("Ready=Deleting Synced=ReconcileError"), typed, hides, orphans},
		"one that is moved during Delete (N55)": {inA, deleted, during("Delete", becomesB), pass, sees("Ready=Deleting Synced=ReconcileError"), typed, mended, orphans},
		"whose creation was interrupted (N55)": {now, identified("a"), lose("Create", failure.OutcomeUnknown(errors.New("timeout"))), try, recorded("a"),
			moved, later(time.Hour), restarted, forget, pass, resources(0), calls("Create", 0), reports(word), deleted, pass, waits},
		"whose creation failed (N55)":                                 {now, identified("a"), refuse("Create", errors.New("no room left")), try, moved, restarted, inB},
		"its state is recorded without a write of its own (N14, N55)": {identified("a"), pass, wrote(4), recorded("a"), nothingNew, restarted, nothingNew},
		"of an earlier version, whose status has none (N55)": {now, pass, sees(ready), recorded(""), identified("a"), pass, recorded("a"), nothingNew,
			later(time.Minute), moved, forget, pass, stays},
		"of an earlier version, moved before it is seen (N55)": {now, pass, moved, pass, sees(ready), resources(1)},
		"in a system that shows no identity any more (N55)":    {inA, later(time.Minute), wiped, identified(""), pass, sees(ready), resources(1), recorded("a")},
		"deleted from such a system (N55)":                     {inA, wiped, identified(""), deleted, pass, sees(gone)},
		"gone where it was (N55)":                              {inA, wiped, deleted, pass, sees(gone)},
		"its address changes (N55)": {inA, system(func(s *thing.System) { s.Identity.Name = "new" }), pass, sees(ready), nothingNew,
			object("the new name", func(mg *thing.Thing) bool { return mg.Status.ExternalSystem.Name == "new" })},
		"its id becomes more exact (N60)": {inA, wiped, identified("cloud/a"), pass, sees(ready), resources(1), recorded("cloud/a"), removed},
		"at the original of its restored copy (N60)": {inA, identified("copy/a"), pass, recorded("copy/a"), identified("a"), forget, pass, sees(unseen), typed,
			copied, permittedByUID, resize(3), pass, sees(unseen), calls("Update", 0), deleted, pass, copied, restarted, pass, copied,
			identified("copy/a"), pass, sees(gone), resources(0)},
		"at the original, which a person accepts (N60)": {inA, identified("copy/a"), pass, identified("a"), forget, pass, sees(unseen),
			annotate(meta.AnnotationKeyRestoredAs, "a"), pass, sees(ready), recorded("a"), identified("copy/a"), pass, sees(ready)},
		"in another copy of the same original (N60)": {inOther, permittedByUID, resize(3), pass, sees(unseen), calls("Update", 0), recorded("copy1/a"),
			restarted, pass, sees(unseen), deleted, pass, restarted, pass, calls("Delete", 0), identified("copy1/a"), pass, sees(gone), resources(0)},
		"deleted in another copy (N60)":            {inCopy, identified("copy2/a"), deleted, pass, calls("Delete", 0), resources(1), recorded("copy1/a")},
		"in another copy, which is accepted (N60)": {inOther, annotate(meta.AnnotationKeyRestoredAs, "copy2/a"), pass, sees(ready), recorded("copy2/a"), removed},
		"in a copy of its copy (N60)":              {inCopy, identified("copy2/copy1/a"), pass, sees(ready), recorded("copy2/copy1/a"), removed},
		"in one with an id that ends alike (N60)":  {descended("x/a", "x/a"), pass, descended("y/a", "y/a"), pass, sees(ready), recorded("y/a"), removed},
		"at the original, where it failed (N60, N74)": {inCopy, identified("a"), failed(errors.New("disk lost")), forget, pass, sees(unseen), typed,
			restarted, pass, sees(unseen), identified("copy1/a"), failed(nil), pass, sees(ready)},
		"it only observes (N55)": {inA, allow("Observe"), moved, forget, pass, stays, deleted, pass, sees(gone)},
	})
}

// What a creation made that is in progress, or has no result, is neither looked for nor created again in another external system.
func TestCreationInFormerSystem(t *testing.T) {
	const began = "a creation whose result is not known began in external system a"
	interrupted := then(now, suspected, annotate(meta.AnnotationKeyExternalCreateSystem, "a"), identified("b"), later(time.Hour), forget)
	stalled := object("a stalled one", func(mg *thing.Thing) bool {
		f := xpv1.FailureOf(mg)
		return f.Reason == failure.ExternalSystemChanged && f.Stalled && mg.GetCondition(xpv1.TypeReady).Status != corev1.ConditionTrue
	})
	unknown := then(stalled, calls("FindCreated", 0), calls("Create", 0), reports(began, "leads to b.example.org:5432 (b)"))
	playBoth(t, scripts{
		"which would be looked for (N55)": {interrupted, findable, pass, unknown, deleted, forget, pass, stalled,
			reports(began, "point the ProviderConfig", meta.AnnotationKeyOrphanOnDelete), identified("a"), pass, sees(gone), resources(0)},
		"which would be repeated (N55)":                    {interrupted, replays, pass, unknown},
		"which a person permits to be created there (N55)": {interrupted, findable, pass, unknown, permittedByUID, pass, sees(ready), resources(1), recorded("b")},
		"which ends in the background (N55)": {now, findable, inBackground, identified("a"), during("Create", becomesB), pass, recorded("a"),
			until("the name is recorded", func(s *stage) bool { return meta.GetExternalName(s.thing()) == "vendor-1" }), wiped, later(time.Minute), forget,
			pass, stalled, calls("Create", 0), reports("was last seen in external system a.example.org:5432 (a)")},
	})
}
