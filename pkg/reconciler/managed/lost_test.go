// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

const lost = "Ready=ResourceLost Synced=ReconcileError"

// holdsData serves a kind whose external resources hold data.
func holdsData(s *stage) { s.play(now, with(managed.WithRecreatePolicy(xpv1.RecreateOnRequest))) }

// permittedByUID permits once to create the external resource again.
func permittedByUID(s *stage) {
	s.edit(func(mg *thing.Thing) { mg.Annotations[meta.AnnotationKeyRecreate] = string(mg.UID) })
}

// permittedAt permits it at a time from now.
func permittedAt(d time.Duration) act {
	return func(s *stage) { s.play(annotate(meta.AnnotationKeyRecreate, s.clock.Add(d).Format(time.RFC3339))) }
}

func recreatePolicy(p xpv1.RecreatePolicy) act {
	return edit(func(mg *thing.Thing) { mg.Spec.RecreatePolicy = p })
}

// vanishesAfter has the external resources vanish before the call that follows the next one of a verb.
func vanishesAfter(verb string) act {
	called := false
	return func(s *stage) {
		s.play(faults(func(next string) (refuse, lose error) {
			if called {
				clear(s.system.Resources)
			}
			called = next == verb
			return nil, nil
		}))
	}
}

// An external resource that held data and is gone is created again only with permission.
func TestLostResource(t *testing.T) {
	vanishes := then(later(time.Minute), wiped, forget, pass)
	stays := then(sees(lost), resources(0), calls("Create", 0))
	isLost := then(holdsData, pass, vanishes, stays)
	recreated := then(pass, sees(ready), resources(1), calls("Create", 1), emitted(managed.ReasonCreated))
	adopted := then(annotate(meta.AnnotationKeyExternalName, "NAME"), give(thing.Resource{Size: 1}), pass, sees(ready), calls("Create", 0))
	unused := object("the permission is removed", func(mg *thing.Thing) bool { return mg.Annotations[meta.AnnotationKeyRecreate] == "" })
	playBoth(t, scripts{
		"it is not created again, and reported once (R90, N38)": {isLost, emitted(managed.ReasonExternalLost), polled,
			reports("restore it under this name", meta.AnnotationKeyRecreate),
			object("a typed failure", func(mg *thing.Thing) bool {
				return xpv1.FailureOf(mg).Reason == failure.ExternalResourceLost && xpv1.FailureOf(mg).Message != ""
			}),
			later(time.Minute), nothingNew, stays},
		"the message is the same after a restart, and names the UID (N38)": {isLost, forget, restarted, pass, stays, emitted(), wrote(0),
			func(s *stage) { s.play(reports(string(s.thing().UID))) }},
		"also one that was adopted, after a restart (N38)": {holdsData, adopted, restarted, vanishes, stays},
		"also one that could never be updated, and so got no finalizer (N23, N38)": {holdsData, annotate(meta.AnnotationKeyExternalName, "NAME"),
			give(thing.Resource{Size: 7}), refuseAll("Update", errors.New("must be owner")), try, forget, vanishes, stays, restarted, pass, stays},
		"also one whose creation had no answer, and which could never be updated (N36, N38)": {holdsData, lose("Create", failure.OutcomeUnknown(errors.New("timeout"))), try,
			resize(7), refuseAll("Update", errors.New("must be owner")), try, restarted, vanishes, stays},
		"a permission ends where the resource is restored (N38)": {isLost, permittedByUID, give(thing.Resource{Size: 1}), forget, pass, sees(ready),
			unused, vanishes, stays},
		"a permission by time, too (N38)": {isLost, permittedAt(0), give(thing.Resource{Size: 1}), forget, pass, sees(ready), unused, vanishes, stays},
		"it is restored, and takes a while to be updated (N38, P81)": {isLost, drift("False ResourceLost []"), system(func(s *thing.System) { s.Stubborn = true }),
			give(thing.Resource{Size: 7}), forget, pass, sees(ready), drift("False Drifted [size 7->1]"), emitted(managed.ReasonUpdated, managed.ReasonDrifted),
			system(func(s *thing.System) { s.Stubborn = false }), pass, drift(asDeclared)},
		"it is restored, and its Secret cannot be written (N38, P81)": {isLost, give(thing.Resource{Size: 1}), func(s *stage) {
			s.fault = func(request string) (refuse, lose error) {
				if strings.Contains(request, "secrets") {
					refuse = errors.New("no route")
				}
				return refuse, nil
			}
			s.system.Endpoint = "elsewhere"
		}, try, drift("Unknown ReconcileError []")},
		"it vanishes during an update (N38)": {holdsData, pass, resize(7), vanishesAfter("Update"), forget, pass, stays},
		"it vanishes during an update, and held no data (R90)": {pass, resize(7), vanishesAfter("Update"), pass,
			sees("Ready=Unavailable Synced=ReconcileSuccess"), forget, pass, sees(ready), resources(1), calls("Create", 1)},
		"it is restored (N38)":                   {isLost, give(thing.Resource{Size: 1}), forget, pass, sees(ready), calls("Create", 0)},
		"a person permits it by UID, once (N38)": {isLost, forget, permittedByUID, recreated, unused, vanishes, stays},
		"of an adopted one, too (N38)":           {holdsData, adopted, vanishes, forget, permittedByUID, recreated, unused, vanishes, stays},
		"a person permits it by time, once (N38)": {isLost, forget, permittedAt(0), recreated, vanishes, stays,
			reports("no later than the last creation")},
		"a time before the last creation (N38)": {isLost, permittedAt(-time.Hour), pass, stays, reports("no later than the last creation")},
		"a time before the object existed permits nothing of what it adopted (N38)": {holdsData, adopted, vanishes, permittedAt(-time.Hour), pass,
			stays, reports("no later")},
		"a time in the future counts from then on (N38)": {isLost, permittedAt(time.Hour), forget, pass, stays, reports("in the future"), emitted(
			managed.ReasonExternalLost), later(time.Hour), recreated, vanishes, stays},
		"an annotation that is neither UID nor time (N38)": {isLost, annotate(meta.AnnotationKeyRecreate, "yes"), pass, stays, reports("neither the UID")},
		"another's was there before (N38)": {holdsData, func(s *stage) { s.system.Resources[s.key.Name] = thing.Resource{Size: 7, Owner: "another"} },
			pass, sees("Ready=Unavailable Synced=ReconcileError"), wiped, pass, sized(1)},
		"policy Always of the object (N38)":                              {holdsData, recreatePolicy(xpv1.RecreateAlways), pass, wiped, forget, recreated},
		"policy OnRequest of the object, whose kind holds no data (N38)": {now, recreatePolicy(xpv1.RecreateOnRequest), pass, vanishes, stays},
		"a kind without data (R90, N38)":                                 {pass, wiped, permittedByUID, forget, recreated, unused},
		"managementPolicies without Create (R110, N38)": {isLost, allow("Observe", "Update"), pass, stays,
			permittedByUID, pass, resources(0), reports("managementPolicies do not let it be created")},
		"its object can be deleted (R54, N38)": {isLost, deleted, pass, sees(gone)},
		"a creation that failed is none (R90, N38)": {holdsData, refuse("Create", errors.New("no room left")), try, later(time.Minute), pass,
			sees(ready), resources(1)},
		"a permitted creation that failed is repeated (N38)": {isLost, permittedByUID, refuse("Create", errors.New("no room left")), try, unused,
			later(time.Minute), restarted, pass, sees(ready), resources(1)},
		"one that does not appear within the grace period (R88, N38)": {holdsData, with(managed.WithCreationGracePeriod(2 * time.Minute)), hidden, pass,
			restarted, later(time.Minute), pass, sees("Ready=Creating Synced=ReconcileSuccess"), later(time.Minute), pass, sees(lost), shown, pass,
			sees(ready), resources(1)},
	})
}

// One that has the name of the object's own, but another identity and no label, may be empty, or another person's.
func TestReplacedResource(t *testing.T) {
	numbers := then(holdsData, system(func(s *thing.System) { s.Numbers = true }), pass, sees(ready))
	put := func(r thing.Resource) act {
		return then(later(time.Minute), alter(func(have *thing.Resource) { *have = r }), forget, pass)
	}
	identity := func(id string) act {
		return object("identity "+id, func(mg *thing.Thing) bool { return mg.Status.ExternalIdentity.ID == id })
	}
	foreign := thing.Resource{Size: 1, ID: "7"}
	is := func(want thing.Resource) act {
		return func(s *stage) { s.equal("resource", want, s.system.Snapshot()[s.key.Name]) }
	}
	replaced := then(numbers, identity("1"), put(foreign))
	stays := then(sees(lost), is(foreign), calls("Create", 0), calls("Update", 0), identity("1"))
	mine := func(id string) act {
		return then(pass, sees(ready), identity(id), func(s *stage) {
			have := s.system.Snapshot()[s.key.Name]
			s.equal("label and id", [2]string{string(s.thing().UID), id}, [2]string{string(have.Owner), have.ID})
		}, nothingNew, restarted, nothingNew)
	}
	restoredAs := func(id string) act { return annotate(meta.AnnotationKeyRestoredAs, id) }
	removed := then(deleted, pass, sees(gone), resources(0))
	playBoth(t, scripts{
		"it is reported once, and not changed (N63)": {replaced, stays, emitted(managed.ReasonExternalLost), nothingNew, stays,
			reports(`has the id 7 instead of 1`, meta.AnnotationKeyRestoredAs+` to "7"`, meta.AnnotationKeyRecreate),
			object("a typed failure", func(mg *thing.Thing) bool { return xpv1.FailureOf(mg).Reason == failure.ExternalResourceLost })},
		"after a restart, too (N63)":                {numbers, restarted, put(foreign), stays, restarted, nothingNew, stays},
		"what it reports does not show (N63)":       {numbers, put(thing.Resource{Size: 7, ID: "7"}), sees(lost), object("its size", func(mg *thing.Thing) bool { return mg.Status.AtProvider.Size == 1 })},
		"it stays when the object is deleted (N63)": {replaced, deleted, forget, pass, sees(gone), is(foreign), emitted(managed.ReasonOrphaned)},
		"the object was deleted before (N63)":       {numbers, restarted, alter(func(have *thing.Resource) { *have = foreign }), deleted, pass, sees(gone), is(foreign)},
		"a person restored it (N63)":                {replaced, restoredAs("7"), mine("7"), removed},
		"what was accepted is replaced again (N63)": {replaced, restoredAs("7"), mine("7"), put(thing.Resource{Size: 1, ID: "8"}), sees(lost)},
		"another one was accepted (N63)":            {replaced, restoredAs("8"), pass, stays},
		"a person permits to use it as it is (N63)": {replaced, permittedByUID, mine("7"), removed},
		"it was restored with its label (N63)":      {replaced, give(thing.Resource{Size: 1, ID: "8"}), mine("8"), removed},
		"it was gone in between (N63)":              {numbers, wiped, later(time.Minute), pass, sees(lost), put(foreign), stays},
		"it only lost its label (N63)":              {numbers, put(thing.Resource{Size: 1, ID: "1"}), mine("1"), removed},
		"an object that names another one (N63)":    {numbers, annotate(meta.AnnotationKeyExternalName, "another"), func(s *stage) { s.system.Resources["another"] = foreign }, pass, sees(ready)},
		"a kind without data (N63)":                 {numbers, recreatePolicy(xpv1.RecreateAlways), put(foreign), stays, deleted, forget, pass, sees(gone), is(foreign)},
		"it only observes (N63)":                    {numbers, allow("Observe"), put(foreign), sees(ready), identity("1"), allow("*"), pass, stays},
		"an earlier version's (N63)": {numbers, func(s *stage) {
			s.editStatus(s.key, func(mg *thing.Thing) { mg.Status.ExternalIdentity = xpv1.ExternalIdentity{} })
		}, restarted, pass, identity("1"), put(foreign), stays},
		"in a system that shows no identity (N63)":  {numbers, put(thing.Resource{Size: 1}), sees(ready), identity("1")},
		"its record costs no write (N14, N63)":      {holdsData, system(func(s *thing.System) { s.Numbers = true }), pass, wrote(4), identity("1"), nothingNew},
		"it is created again with permission (N63)": {numbers, wiped, later(time.Minute), pass, sees(lost), permittedByUID, mine("2"), removed},
		"a crash after a permitted creation (N63)": {numbers, wiped, later(time.Minute), pass, permittedByUID,
			lose("Create", failure.OutcomeUnknown(errors.New("timeout"))), try, alter(func(have *thing.Resource) { have.Owner = "" }), restarted, pass,
			sees("Ready=ConnectionDetailsLost Synced=ReconcileError"), identity("2"), removed},
	})
}

// An interrupted creation whose result a person looked for never had a resource.
func TestLostAfterIntervention(t *testing.T) {
	play(t, scripts{
		"removing the annotation of an interrupted creation resumes it (R86, N38)": {holdsData, suspected, pass,
			annotate(meta.AnnotationKeyExternalCreatePending, ""), pass, sees(ready), resources(1)},
		"in the background, without grace (R88, R197, N38)": {holdsData, vendorNames, inBackground, with(managed.WithCreationGracePeriod(0)), hidden,
			untilOperation("Finished Success"), complete, shown, pass, sees(ready), resources(1)},
	})
}
