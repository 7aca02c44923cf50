// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// shared serves a kind without labels through a configuration for all namespaces.
var shared = then(unlabelled, system(func(s *thing.System) {
	s.Adoption = resource.Adoption{Of: `ClusterProviderConfig "shared"`, Namespace: "team"}
}))

// theirs is an external resource that existed before.
func theirs(s *stage) { s.system.Resources[s.key.Name] = thing.Resource{Size: 7} }

// earlier is the status as a version without the proof left it.
func earlier(s *stage) {
	s.editStatus(s.key, func(mg *thing.Thing) { mg.Status.Ownership = nil })
	s.play(restarted)
}

const unproven = "shows no owner"

var (
	hasProof = object("the proof is in the status", func(mg *thing.Thing) bool {
		o := mg.Status.Ownership
		return o != nil && o.ExternalName == mg.Name && *o.ProviderConfigReference == xpv1.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "default"}
	})
	honest  = then(shared, pass, sees(ready), hasProof, now)
	removed = then(deleted, pass, sees(gone), resources(0))
	goesOn  = then(pass, sees(ready), hasProof, nothingNew, size(2), pass, sized(2), sees(ready), nothingNew, removed)
)

// playLocal is play for objects in a namespace, which use a ClusterProviderConfig.
func playLocal(t *testing.T, all scripts) {
	t.Helper()
	t.Parallel()
	local := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(local), thing.AddLocalToScheme(local)); err != nil {
		t.Fatal(err)
	}
	env := controlplanetest.NewWithScheme(t, local)
	for name, acts := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stageIn(t, env)
			s.kind, s.key.Namespace, s.draft.Namespace = thing.LocalGroupVersionKind, env.Namespace, env.Namespace
			s.draft.Spec.WriteConnectionSecretToReference = nil
			s.play(acts...)
		})
	}
}

// Where nothing in the external system shows an owner, the status proves it: authors of objects write annotations, but no statuses.
func TestProofOfOwnership(t *testing.T) {
	const reserved = "nothing shows whose resources"
	kept := func(s *stage) {
		s.equal("resources", map[string]thing.Resource{s.key.Name: {Size: 7}}, s.system.Snapshot())
	}
	orphaned := then(annotate(meta.AnnotationKeyOrphanOnDelete, "true"), pass, sees(gone), kept)
	refused := then(passes(2), reports("exists already", reserved), sees("Ready=Unavailable Synced=ReconcileError"), deleted, pass, sees(gone), kept)
	stays := then(passes(2), reports(unproven, "set ownership to"), sees("Ready=Unavailable Synced=ReconcileError"), kept,
		deleted, passes(2), reports(unproven, meta.AnnotationKeyOrphanOnDelete), kept, orphaned)
	fails := func(err error, during act) act {
		return then(shared, faults(func(verb string) (refuse, lose error) {
			if verb != "Create" {
				return nil, nil
			}
			return err, nil
		}), during, try, mended, theirs, restarted)
	}
	edited := func(s *stage) {
		fault := s.system.Fault
		s.system.Fault = func(verb string) (refuse, lose error) {
			if verb == "Create" {
				s.edit(func(mg *thing.Thing) { mg.Annotations["edited"] = "by a user" })
			}
			return fault(verb)
		}
	}
	nothing := then()
	outage := then(refuse("Connect", errors.New("no route")), try, hasProof)
	outdated := then(honest, theirs, size(7), func(s *stage) {
		s.editStatus(s.key, func(mg *thing.Thing) { mg.Status.Ownership = nil })
	}, restarted)
	paused := annotate(meta.AnnotationKeyReconciliationPaused, "true")
	playLocal(t, scripts{
		"forged: a creation (N54)":               {shared, theirs, created, refused},
		"forged: an interrupted creation (N54)":  {shared, theirs, began, refused},
		"forged: an adoption (N54)":              {shared, theirs, created, finalizer, refused},
		"it was only observed (N54)":             {shared, theirs, created, finalizer, allow("Observe"), pass, sees(ready), allow("*"), stays},
		"only observed, and then unknown (N54)":  {shared, theirs, created, finalizer, allow("Observe"), pass, allow("*"), refuse("Connect", errors.New("x")), try, stays},
		"its creation failed (N54)":              {fails(errors.New("no such role"), nothing), refused},
		"its creation was turned away (N54)":     {fails(busy{}, nothing), refused},
		"its creation failed during edits (N54)": {fails(errors.New("no such role"), edited), refused},
		"another external name (N54)":            {honest, theirs, annotate(meta.AnnotationKeyExternalName, "another"), func(s *stage) { s.system.Resources["another"] = thing.Resource{Size: 7} }, passes(2), reports(unproven), sized(7)},
		"another configuration (N54)": {honest, theirs, edit(func(mg *thing.Thing) {
			mg.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: "other"}
		}), stays},
		"its own (N54)":                                {honest, goesOn},
		"its own, restarted (N54)":                     {honest, restarted, goesOn},
		"lost and created again (N54)":                 {honest, wiped, pass, resources(1), goesOn},
		"an earlier version's (N54)":                   {honest, earlier, goesOn},
		"an earlier version's, during an outage (N54)": {honest, earlier, outage, goesOn},
		"an earlier version's, paused and changed (N54)": {honest, theirs, size(7), pass, paused, pass, earlier, pass, hasProof, annotate(meta.AnnotationKeyReconciliationPaused, ""),
			annotate(meta.AnnotationKeyExternalName, "another"), func(s *stage) { s.system.Resources["another"] = thing.Resource{Size: 1} }, passes(2), reports(unproven), func(s *stage) {
				s.equal("size", 1, s.system.Snapshot()["another"].Size)
			}},
		"an earlier version's, in deletion (N54)":              {honest, earlier, deleted, pass, sees(gone), resources(0)},
		"an earlier version's, slow to delete (N54)":           {honest, slowDelete, earlier, deleted, passes(2), hasProof, wiped, pass, sees(gone)},
		"an earlier version's, out of reach in deletion (N54)": {honest, earlier, deleted, outage, pass, sees(gone), resources(0)},
		"changed before the upgrade (N54)": {outdated, pass, reports(unproven), func(s *stage) {
			s.editStatus(s.key, func(mg *thing.Thing) {
				mg.Status.Ownership = &xpv1.Ownership{ExternalName: mg.Name, ProviderConfigReference: &xpv1.ProviderConfigReference{Kind: "ClusterProviderConfig", Name: "default"}}
			})
		}, pass, sees(ready), removed},
		"changed before the upgrade, deleted (N54)": {outdated, stays},
		"the failure is typed (N54)":                {outdated, pass, object("OwnershipUnproven", func(mg *thing.Thing) bool { return xpv1.FailureOf(mg).Reason == failure.OwnershipUnproven })},
	})
}

// A label that people removed is no loss where the status proves whose the external resource is.
func TestProofWithoutLabel(t *testing.T) {
	none := then(with(managed.WithLabels()), system(func(s *thing.System) { s.Adoption.Policy = xpv1.AdoptNone }))
	theirs := func(s *stage) { s.system.Resources["another"] = thing.Resource{Size: 7} }
	removed := system(func(s *thing.System) {
		for name, have := range s.Resources {
			have.Owner = ""
			s.Resources[name] = have
		}
	})
	stored := object("the proof is in the status", func(mg *thing.Thing) bool {
		return mg.Status.Ownership != nil && mg.Status.Ownership.ExternalName == mg.Name
	})
	honest := then(none, pass, sees(ready), wrote(4), stored, nothingNew, now)
	relabelled := then(size(2), pass, sized(2), sees(ready), holds("it has its label again", func(s *stage) bool {
		return s.has().Owner == s.thing().UID
	}))
	play(t, scripts{
		"its label was removed (N54)":                   {honest, removed, relabelled},
		"removed while no process ran (N54)":            {honest, removed, restarted, relabelled},
		"removed before the upgrade (N54)":              {honest, removed, earlier, pass, sees(ready), stored, relabelled},
		"the proof follows with the upgrade (N54)":      {honest, earlier, pass, stored, removed, relabelled},
		"removed, deleted (N54)":                        {honest, removed, deleted, pass, sees(gone), resources(0)},
		"it names the resource of another (N54)":        {honest, theirs, annotate(meta.AnnotationKeyExternalName, "another"), passes(2), reports("shows no owner", "label it again"), func(s *stage) { s.equal("size", 7, s.system.Snapshot()["another"].Size) }},
		"where it may adopt, there is none (N14, N54)":  {with(managed.WithLabels()), pass, sees(ready), wrote(4), object("no proof", func(mg *thing.Thing) bool { return mg.Status.Ownership == nil })},
		"its creation failed: what appears later (N54)": {none, refuse("Create", errors.New("denied")), try, func(s *stage) { s.system.Resources[s.key.Name] = thing.Resource{Size: 7} }, mended, restarted, passes(2), reports("spec.adoption is None"), sized(7)},
	})
}

// What Create creates is proven, also if the external system chose its name, and whatever becomes of the request.
func TestStoreProofOfOwnership(t *testing.T) {
	chosen := then(shared, vendorNames, pass, sees(ready), resources(1), object("the chosen name is proven", func(mg *thing.Thing) bool {
		return mg.Status.Ownership != nil && mg.Status.Ownership.ExternalName == "vendor-1"
	}))
	old := func(s *stage) { // the CRD of an earlier version, which lacks the field
		s.intercept = func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPatch {
				return nil, nil
			}
			body, err := io.ReadAll(r.Body)
			body = bytes.ReplaceAll(body, []byte(`"ownership"`), []byte(`"unknown__"`))
			r.Body = io.NopCloser(bytes.NewReader(body))
			return nil, err
		}
	}
	install := func(s *stage) { s.intercept = nil }
	interrupted := func(s *stage) { // between the mark and Create
		s.fault = func(request string) (refuse, lose error) {
			if !strings.Contains(request, "status") {
				return nil, nil
			}
			s.fault = nil
			return errors.New("no route"), nil
		}
	}
	playLocal(t, scripts{
		"no CRD for the proof (N54)":          {shared, old, passes(2), calls("Create", 0), resources(0), reports("install the CRD"), install, pass, sees(ready), goesOn},
		"no CRD, and it may adopt (N14, N54)": {unlabelled, old, pass, sees(ready), nothingNew},
		"the proof cannot be stored (N54)":    {shared, interrupted, try, calls("Create", 0), pass, sees(ready), goesOn},
		"chosen by the external system (N54)": {chosen, pass, sees(ready), nothingNew, restarted, size(2), pass, func(s *stage) {
			s.equal("size", 2, s.system.Snapshot()["vendor-1"].Size)
		}, sees(ready), nothingNew, removed},
		"chosen in the background (N54)": {shared, vendorNames, inBackground, untilOperation("Finished Success"), pass, sees(ready), restarted, pass,
			sees(ready), nothingNew},
		"a chosen name, changed (N54)": {chosen, theirs, annotate(meta.AnnotationKeyExternalName, "NAME"), passes(2), reports(unproven), sized(7)},
		"a kind with labels pays no write (N14, N54)": {shared, system(func(s *thing.System) { s.Unlabelled = false }), with(managed.WithLabels()), pass, sees(ready), wrote(3),
			object("no proof", func(mg *thing.Thing) bool { return mg.Status.Ownership == nil })},
		"a kind without labels pays one (N14, N54)":   {honest, wrote(4)},
		"where it may adopt, it pays none (N14, N54)": {unlabelled, pass, sees(ready), wrote(3), hasProof},
	})
}
