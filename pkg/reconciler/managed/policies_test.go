// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Every combination of policies beside what it lets the reconciler do when the external resource is missing, when the
// spec differs, when the vendor chose a setting, and when the object is deleted. This table is the manual.
func TestPolicies(t *testing.T) {
	const c, u, f, d = "creates ", "updates ", "fills ", "deletes "
	all := scripts{}
	for _, tc := range []struct {
		name     string
		policies xpv1.ManagementPolicies
		may      string
	}{
		{"everything (R119, R117, R131, R30, R43)", policies("*"), c + u + f + d},
		{"all actions (R119)", policies("Create", "Delete", "LateInitialize", "Observe", "Update"), c + u + f + d},
		{"the star beside others (R117)", policies("Observe", "*", "Observe"), c + u + f + d},
		{"never updated (R120, R129, R114)", policies("Create", "Delete", "LateInitialize", "Observe"), c + f + d},
		{"never filled (R121, R129, R112, R152)", policies("Create", "Delete", "Observe", "Update"), c + u + d},
		{"created and removed (R122, R130, R112)", policies("Create", "Delete", "Observe"), c + d},
		{"kept (R123, R111, R57)", policies("Create", "LateInitialize", "Observe", "Update"), c + u + f},
		{"kept, never updated (R124)", policies("Create", "LateInitialize", "Observe"), c + f},
		{"kept, never filled (R125)", policies("Create", "Observe", "Update"), c + u},
		{"only created (R126, R110)", policies("Create", "Observe"), c},
		{"only observed (R127, R113, R110, R131, R30, R43)", policies("Observe"), ""},
		{"only updated (R133, R110)", policies("Observe", "Update"), u},
		{"only removed (R133, R111)", policies("Observe", "Delete"), d},
		{"only filled (R133, R112)", policies("Observe", "LateInitialize"), f},
		{"imported, and everything else (R133)", policies("Delete", "LateInitialize", "Observe", "Update"), u + f + d},
	} {
		did := ""
		does := func(what string, ok func(*stage) bool) act {
			return func(s *stage) {
				if ok(s) {
					did += what
				}
			}
		}
		create := then(wiped, forget, pass) // also once more if deleted outside (R90, R122)
		once := holds("created as allowed", func(s *stage) bool { return (s.system.Called("Create") == 1) == (did == c) })
		all[tc.name] = []act{allow(tc.policies...), create, does(c, func(s *stage) bool { return s.system.Called("Create") == 1 }),
			create, once,
			give(thing.Resource{Size: 1, Zone: "zone-a"}), size(2), endpoint("elsewhere"), forget, pass, sees(ready),
			holds("what exists shows", func(s *stage) bool {
				return *s.thing().Status.AtProvider.Zone == "zone-a" && s.connection()["endpoint"] == "elsewhere"
			}),
			does(u, func(s *stage) bool { return s.has().Size == 2 && s.system.Called("Update") > 0 }),
			does(f, func(s *stage) bool { return s.thing().Spec.ForProvider.Zone != nil }),
			deleted, pass, sees(gone), does(d, func(s *stage) bool { return len(s.system.Snapshot()) == 0 }),
			func(s *stage) { s.equal("what it does", tc.may, did) }}
	}
	all["a failure shows where nothing but Observe is allowed (R131, R30, R43, R113, R135)"] = []act{allow("Observe"),
		give(thing.Resource{Size: 1}), failed(errors.New("out of order")), pass, reports("out of order")}
	play(t, all)
}

// What pauses, and how to end it.
var pauses = map[string]struct{ pause, resume act }{
	"annotation":     {annotate(meta.AnnotationKeyReconciliationPaused, "true"), annotate(meta.AnnotationKeyReconciliationPaused, "")},
	"empty policies": {allow(), allow("*")},
}

func TestPauses(t *testing.T) {
	// The first pass may write, the others do nothing.
	once := then(wrote(1), emitted(managed.ReasonPaused), requeued(0, 0), called(""))
	quiet := then(pass, once, later(time.Hour), pass, requeued(0, 0), pass, wrote(0), emitted(), called(""))
	all := scripts{
		// The schema would make an absent list of policies "everything".
		"our own writes keep an empty list (R106, R128, N31)": {allow(), annotate(meta.AnnotationKeyOrphanOnDelete, "true"),
			edit(func(mg *thing.Thing) { mg.Finalizers = []string{managed.Finalizer, "test.bowline.dev/hold"} }), pass, deleted, pass,
			object("an empty list", func(mg *thing.Thing) bool { return mg.Spec.ManagementPolicies.Empty() && len(mg.Finalizers) == 1 })},
	}
	for name, by := range pauses {
		var before xpv1.ResourceStatus
		all["by "+name+" (R58, R96, R100, R101, R102, R103, R104, R105, R107, R128, R186, N9)"] = []act{
			pass, func(s *stage) { before = s.thing().Status.ResourceStatus }, size(2), by.pause, forget, quiet, func(s *stage) {
				after := s.thing().Status.ResourceStatus
				if got := after.GetCondition(xpv1.TypeSynced); got.Status != "False" || got.Reason != xpv1.ReasonReconcilePaused {
					s.t.Errorf("condition Synced is %s %s", got.Status, got.Reason)
				}
				after.SetConditions(before.GetCondition(xpv1.TypeSynced))
				s.equal("rest of the status", before, after)
			},
			deleted, quiet, reports("Deletion is paused", "orphan-on-delete"), resources(1), sized(1),
			by.resume, pass, sees(gone), resources(0)}
	}
	for _, value := range []string{"true", "True", "1", "false", " true", ""} {
		state := map[bool]string{true: "Ready= Synced=ReconcilePaused", false: ready}[value == "true"]
		all[fmt.Sprintf("crossplane.io/paused: %q (R97)", value)] = []act{
			edit(func(mg *thing.Thing) { mg.Annotations["crossplane.io/paused"] = value }), pass, sees(state)}
	}
	// Nothing that a person sets to pause an object, or to poll it, is ignored silently; the event is emitted once.
	for key, values := range map[string][]string{
		meta.AnnotationKeyReconciliationPaused: {"TRUE", "yes", "1"}, meta.AnnotationKeyOrphanOnDelete: {"True"}, meta.AnnotationKeyProtect: {"True"},
		meta.AnnotationKeyPollInterval: {"-5s", "5"},
	} {
		for _, value := range values {
			all[fmt.Sprintf("%s: %q is reported (R97)", key, value)] = []act{pass, forget, annotate(key, value),
				then(pass, wrote(1), emitted(managed.ReasonIgnored), reports("Annotation "+key, "no effect"), sees(ready)), later(time.Hour),
				then(pass, wrote(0), emitted()),
				edit(func(mg *thing.Thing) { delete(mg.Annotations, key) }), pass, wrote(1), emitted(), sees(ready)}
		}
	}
	play(t, all)
}

// Policies that cannot be followed, whether the object is deleted or not, and others that the schema refuses.
func TestRefusedPolicies(t *testing.T) {
	refused := func(message string, actions ...xpv1.ManagementAction) act {
		once := then(pass, wrote(1), reports(message), pass, wrote(0), reports(message))
		return then(allow(actions...), finalizer, once, sees(refusedNew), deleted, once, called(""), sees("Ready=Deleting Synced=ReconcileError"))
	}
	play(t, scripts{
		"nothing works without Observe (R134)": {refused("lack Observe", "Create", "Update", "Delete", "LateInitialize")},
		"not even deletion (R134, R111)":       {refused("lack Observe", "Delete")},
		"the provider has none (R115)": {with(managed.WithManagementPolicies(false)),
			refused("not supported by this provider", "Observe", "Create", "Delete")},
		"the default is always supported (R115)": {with(managed.WithManagementPolicies(false)), pass, sees(ready)},
		"the default is everything (R108, R109)": {object("*", func(mg *thing.Thing) bool {
			return slices.Equal(mg.Spec.ManagementPolicies, policies("*"))
		})},
		"an unknown action is rejected (R116)": {func(s *stage) {
			mg := s.thing()
			mg.Spec.ManagementPolicies = policies("Observe", "Destroy")
			if err := s.env.Client.Update(s.t.Context(), mg); !apierrors.IsInvalid(err) {
				s.t.Errorf("got %v", err)
			}
		}},
		"a missing resource that must not be created: what to do (R132, R110, N13)": {allow("Observe"), pass,
			reports("thing\" does not exist", meta.AnnotationKeyExternalName, "add Create"), sees("Ready=Unavailable Synced=ReconcileError"),
			calls("Create", 0), forget, pass, polled, wrote(0)},
	})
}

// Every policy that is present has a say in whether the external resource is deleted.
func TestDeletionNeedsAllPolicies(t *testing.T) {
	all := scripts{}
	for _, management := range []xpv1.ManagementPolicies{policies("*"), policies("Observe", "Delete"),
		policies("Observe", "Create", "Update")} {
		for _, deletion := range []xpv1.DeletionPolicy{"", xpv1.DeletionDelete, xpv1.DeletionOrphan} {
			for _, reclaim := range []xpv1.ReclaimPolicy{"", xpv1.ReclaimDelete, xpv1.ReclaimRetain} {
				end := then(resources(1), called("")) // it is not even observed
				if management.Allow(xpv1.ManagementActionDelete) && deletion != xpv1.DeletionOrphan && reclaim != xpv1.ReclaimRetain {
					end = resources(0)
				}
				name := fmt.Sprintf("%v, deletionPolicy %s, reclaimPolicy %s (N3, R56, R57, R111)", management, deletion, reclaim)
				all[name] = []act{finalizer, allow(management...), edit(func(mg *thing.Thing) {
					mg.Spec.DeletionPolicy, mg.Spec.ReclaimPolicy = deletion, reclaim
				}), give(thing.Resource{Size: 1}), deleted, pass, sees(gone), end}
			}
		}
	}
	play(t, all)
}

// A person may delete any object without its external resource, whatever keeps that from being deleted.
func TestOrphanOnDelete(t *testing.T) {
	orphaned := func(kept int) act {
		return then(finalizer, give(thing.Resource{Size: 1}), annotate(meta.AnnotationKeyOrphanOnDelete, "true"),
			annotate(meta.AnnotationKeyExternalName, "NAME"), pass,
			object("it stays until a user deletes it", func(mg *thing.Thing) bool { return mg != nil }),
			forget, deleted, pass, sees(gone), resources(kept), calls("Delete", 1-kept), emitted(managed.ReasonOrphaned))
	}
	play(t, scripts{
		"paused (N31)":                   {pauses["annotation"].pause, orphaned(1)},
		"paused by empty policies (N31)": {pauses["empty policies"].pause, orphaned(1)},
		"a suspected leak (N31, R84)":    {with(managed.WithVendorNames()), createPending, orphaned(1)},
		"healthy (N31)":                  {orphaned(1)},
	})
}
