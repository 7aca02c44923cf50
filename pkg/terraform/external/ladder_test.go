// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
)

// lostAnswer has the provider end after it created what it was asked to create, and before it answers.
var lostAnswer = map[string]any{"verb": "create", "when": "after", "do": "exit", "times": 1}

var (
	byName  = external.TypeSettings{ImportID: "{name}", AbsentAfter: 200 * time.Millisecond}
	byLabel = external.TypeSettings{ImportID: "{name}", Ownership: "tags", AbsentAfter: 200 * time.Millisecond}
)

type ladderCase struct {
	reason   string
	kind     string
	settings external.TypeSettings
	password bool // is declared
	faults   []map[string]any
	between  func(*stage) // when the object waits the first time
	waits    string       // in the message then; empty: it does not wait
	stays    bool         // it waits after that, too
	created  int          // calls
}

// eachCase runs cases one after another on a stage of each provider.
func eachCase[C any](t *testing.T, cases map[string]C, run func(t *testing.T, s *stage, tc C), types ...string) {
	each(t, func(t *testing.T, s *stage) {
		for _, name := range slices.Sorted(maps.Keys(cases)) {
			t.Run(name, func(t *testing.T) {
				s := s.of(t)
				s.removeAll()
				s.faults()
				s.must(os.RemoveAll(filepath.Join(s.folder, "calls.log")))
				run(t, s, cases[name])
			})
		}
	}, types...)
}

// interrupted creates an object whose creation faults interrupt, and waits until it says so with a text, if that is not empty.
func (s *stage) interrupted(kind string, password bool, waits string, faults []map[string]any) *unstructured.Managed {
	s.t.Helper()
	s.faults(faults...)
	o := s.named(kind)
	if password {
		s.declarePassword(o)
	}
	s.create(o)
	if waits != "" {
		s.waits(o, failure.CreateInterrupted, waits)
	}
	return o
}

// What an interrupted creation made is found by its import id, if it is the object's beyond doubt and no secret is lost. Nothing is created twice.
func TestLadder(t *testing.T) {
	importFails := map[string]any{"verb": "import", "do": "fail"}
	eachCase(t, map[string]ladderCase{
		"found": {reason: "It was absent before, and an import returns its secret.", kind: "beacon", settings: byName, faults: []map[string]any{lostAnswer},
			created: 1},
		"declared secret": {reason: "A password that the object declares is not lost.", kind: "berth", settings: byName, password: true,
			faults: []map[string]any{lostAnswer}, created: 1},
		"lost secret": {reason: "Only the answer had the password.", kind: "berth", settings: byName, faults: []map[string]any{lostAnswer},
			waits: "only the answer to the creation had (password)", stays: true, created: 1},
		"lost secret, deleted by a person": {reason: "Once it is gone another one may be created.", kind: "berth", settings: byName,
			faults: []map[string]any{lostAnswer}, waits: "(password)", between: (*stage).removeAll, created: 2},
		"absent": {reason: "Nothing was created, and enough time has passed to know.", kind: "beacon", settings: byName,
			faults: []map[string]any{{"verb": "create", "do": "exit", "times": 1}}, created: 2},
		"absent, too soon to know": {reason: "An external system may show late what it created.", kind: "beacon",
			settings: external.TypeSettings{ImportID: "{name}", AbsentAfter: time.Hour}, faults: []map[string]any{{"verb": "create", "do": "exit", "times": 1}},
			waits: "nothing is found by the import id", stays: true, created: 1},
		"shown late": {reason: "What appears while the object waits is its own.", kind: "beacon",
			settings: external.TypeSettings{ImportID: "{name}", AbsentAfter: time.Hour}, faults: []map[string]any{{"verb": "create", "do": "exit", "times": 1}},
			waits: "nothing is found by the import id", between: func(s *stage) { s.plant("beacon", nil) }, created: 1},
		"created by others meanwhile": {reason: "What has no label of the object is not its own.", kind: "beacon",
			settings: external.TypeSettings{ImportID: "{name}", Ownership: "tags", AbsentAfter: time.Hour},
			faults:   []map[string]any{{"verb": "create", "do": "exit", "times": 1}}, waits: "nothing is found by the import id",
			between: func(s *stage) { s.plant("beacon", map[string]any{"bowline-uid": "of-another"}) }, stays: true, created: 1},
		"import fails": {reason: "An error does not say that there is nothing.", kind: "beacon", settings: byName,
			faults: []map[string]any{importFails, lostAnswer}, waits: `an import of "north", which is tried again, fails`, stays: true, created: 1},
		"import failed before": {reason: "What is found may have existed before.", kind: "beacon", settings: byName,
			faults: []map[string]any{importFails, lostAnswer}, waits: "tried again", between: (*stage).heal, stays: true, created: 1},
		"import failed before, labelled": {reason: "The label shows whose it is.", kind: "beacon", settings: byLabel,
			faults: []map[string]any{importFails, lostAnswer}, waits: "tried again", between: (*stage).heal, created: 1},
		"id not known": {reason: "Without an import id nothing can be found.", kind: "beacon",
			settings: external.TypeSettings{ImportID: "{tags.place}/{name}"}, faults: []map[string]any{lostAnswer},
			waits: "nothing tells whether it was made", stays: true, created: 1},
	}, func(t *testing.T, s *stage, tc ladderCase) {
		s.settings = tc.settings
		defer s.run()()
		north := s.interrupted(tc.kind, tc.password, tc.waits, tc.faults)
		if tc.between != nil {
			tc.between(s)
			s.nudge(north)
		}
		if !tc.stays {
			s.ready(north)
			s.checkPublished(tc.kind, north)
		} else if tc.between != nil {
			s.waits(north, failure.CreateInterrupted, "exists, but")
		}
		if got := s.calls("create"); got != tc.created {
			t.Errorf("%s It was created %d times, not %d", tc.reason, got, tc.created)
		}
		s.faults()
		s.edit(north, func(map[string]any) { // whatever it was, a person can end it
			annotations := north.GetAnnotations()
			delete(annotations, meta.AnnotationKeyExternalCreatePending)
			annotations[meta.AnnotationKeyTakeOverFrom] = "of-another"
			north.SetAnnotations(annotations)
			if tc.stays && len(s.files(tc.kind)) > 0 {
				meta.SetExternalName(north, "north")
			}
		})
		s.ready(north)
		if n := len(s.files(tc.kind)); n != 1 {
			t.Errorf("%s There are %d", tc.reason, n)
		}
		s.delete(north)
		s.gone(north)
	}, "berth", "pier", "beacon")
}

// What an interrupted creation made is deleted with its object, whose secrets no longer count, unless it may be the resource of others.
func TestInterruptedCreationIsDeleted(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.settings = byLabel
		s.run()
		s.faults(lostAnswer)
		north := s.named("berth")
		s.create(north)
		s.waits(north, failure.CreateInterrupted, "(password)")
		s.delete(north)
		s.gone(north)
		if files := s.files("berth"); len(files) != 0 {
			t.Errorf("after the deletion there is %v", files)
		}
		s.faults(map[string]any{"verb": "import", "do": "fail"}, lostAnswer)
		north = s.named("beacon")
		s.create(north)
		s.waits(north, failure.CreateInterrupted, "tried again")
		s.removeAll()
		s.plant("beacon", nil)
		s.faults()
		s.delete(north)
		s.waits(north, failure.CreateInterrupted, "exists, but its tags have not bowline-uid=")
		if len(s.files("beacon")) != 1 || s.calls("delete") != 1 {
			t.Errorf("the resource of others was deleted: there is %v", s.files("beacon"))
		}
	}, "beacon", "berth")
}

// What another object has is neither taken over nor deleted by one whose creation was interrupted.
func TestInterruptedCreationOfWhatAnotherHas(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.settings = external.TypeSettings{ImportID: "{name}", AbsentAfter: time.Hour}
		s.run()
		s.faults(map[string]any{"verb": "create", "do": "exit", "times": 1})
		first := s.named("beacon")
		s.create(first)
		s.waits(first, failure.CreateInterrupted, "nothing is found by the import id")
		second := s.object("Beacon", "second", map[string]any{"forProvider": map[string]any{"name": "north"}})
		s.create(second)
		s.ready(second)
		s.nudge(first)
		s.waits(first, failure.CreateInterrupted, `"north" exists, but belongs to Beacon second`)
		s.delete(first)
		s.waits(first, failure.CreateInterrupted, `"north" exists, but may be another's`)
		s.ready(second)
		if len(s.files("beacon")) != 1 || s.calls("delete") != 0 {
			t.Errorf("after %d deletions there is %v", s.calls("delete"), s.files("beacon"))
		}
	}, "beacon")
}

// What exists already is neither created again nor adopted, unless a person says so.
func TestExistsBefore(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.settings = byName
		s.run()
		s.plant("beacon", map[string]any{"place": "pier"})
		before := s.files("beacon")
		north := s.named("beacon")
		s.create(north)
		s.waits(north, failure.ExternalNameTaken, "exists already")
		if message := xpv1.FailureOf(north).Message; !strings.Contains(message, `crossplane.io/external-name to "north"`) {
			t.Errorf("the team reads %q", message)
		}
		if diff := cmp.Diff(before, s.files("beacon")); diff != "" || s.calls("create") != 0 {
			t.Errorf("it was changed: %s", diff)
		}
		s.edit(north, func(map[string]any) { north.SetAnnotations(map[string]string{meta.AnnotationKeyExternalName: "north"}) })
		s.ready(north)
		if n := len(s.files("beacon")); n != 1 {
			t.Errorf("then there are %d", n)
		}
	}, "beacon")
}

// The label for the owner is beside those that an object declares, is no drift, and cannot be another one.
func TestOwnershipLabel(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.settings = byLabel
		s.run()
		north, south := s.named("pier"), s.object("Pier", "south", map[string]any{"forProvider": map[string]any{"name": "south",
			"tags": map[string]any{"bowline-uid": "mine"}}})
		set(north.Object, map[string]any{"place": "harbour"}, "spec", "forProvider", "tags")
		s.create(north, south)
		s.ready(north)
		s.waits(south, failure.InvalidSettings, "spec.forProvider.tags.bowline-uid must be left out")
		tags := func() any { return s.files("pier")[meta.GetExternalName(north)]["tags"] }
		want := map[string]any{"place": "harbour", "bowline-uid": string(north.GetUID())}
		if diff := cmp.Diff(any(want), tags()); diff != "" || s.calls("update") != 0 {
			t.Errorf("after %d updates: %s", s.calls("update"), diff)
		}
		s.edit(north, func(o map[string]any) { set(o, []any{"Observe"}, "spec", "managementPolicies") })
		s.eventually(north, "it is in sync", func() error {
			if c := north.GetCondition(xpv1.TypeInSync); c.Status != corev1.ConditionTrue || c.ObservedGeneration != north.GetGeneration() {
				return fmt.Errorf("%s: %s", c.Reason, c.Message)
			}
			return nil
		})
		s.edit(north, func(o map[string]any) {
			set(o, []any{"*"}, "spec", "managementPolicies")
			set(o, map[string]any{}, "spec", "forProvider", "tags")
		})
		delete(want, "place")
		s.eventually(north, "the tags are as declared", func() error {
			if diff := cmp.Diff(any(want), tags()); diff != "" {
				return errors.New(diff)
			}
			return s.isReady(north)
		})
	}, "pier")
}

// Labels may be below blocks, which must be declared.
func TestOwnershipLabelInBlock(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.settings, s.only = external.TypeSettings{ImportID: "{name}", Ownership: "metadata[0].labels"}, "pier"
		s.run()
		north, south := s.named("pier"), s.object("Pier", "south", map[string]any{"forProvider": map[string]any{"name": "south"}})
		set(north.Object, []any{map[string]any{"labels": map[string]any{"place": "harbour"}}}, "spec", "forProvider", "metadata")
		s.create(north, south)
		s.ready(north)
		want := []any{map[string]any{"labels": map[string]any{"place": "harbour", "bowline-uid": string(north.GetUID())}}}
		if diff := cmp.Diff(any(want), s.files("pier")[meta.GetExternalName(north)]["metadata"]); diff != "" {
			t.Error(diff)
		}
		s.waits(south, failure.InvalidSettings, "spec.forProvider.metadata[0].labels.bowline-uid cannot be set")
	}, "pier")
}

// A lost state changes no connection Secret. It is made anew by an import where it had no secret, and the resource is the object's.
func TestLostStateIsImported(t *testing.T) {
	type lostCase struct {
		kind     string
		settings external.TypeSettings
		replaced bool // by another one of the name
		imported bool
	}
	eachCase(t, map[string]lostCase{
		"by id":               {kind: "pier", settings: byName, imported: true},
		"by label":            {kind: "pier", settings: byLabel, imported: true},
		"another id":          {kind: "pier", settings: byName, replaced: true},
		"another label":       {kind: "pier", settings: byLabel, replaced: true},
		"secret":              {kind: "beacon", settings: byLabel},
		"secret only created": {kind: "berth", settings: byLabel},
		"nothing to find it":  {kind: "pier"},
	}, func(t *testing.T, s *stage, tc lostCase) {
		s.settings = tc.settings
		stop := s.run()
		north := s.named(tc.kind)
		s.create(north)
		s.ready(north)
		stop()
		before, key := &corev1.Secret{}, client.ObjectKey{Namespace: s.Namespace, Name: "north"}
		s.must(s.Client.Get(t.Context(), key, before))
		s.must(s.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "tfstate-" + string(north.GetUID())}}))
		if tc.replaced {
			s.removeAll()
			s.plant(tc.kind, nil)
		}
		polls := s.calls("read")
		defer s.run()()
		s.nudge(north)
		if tc.imported {
			s.eventually(north, "it is ready after the import", func() error {
				if s.calls("read") < polls+5 {
					return errors.New("it is not polled")
				}
				return s.isReady(north)
			})
		} else {
			s.waits(north, failure.StateLost, "is lost: restore Secret tfstate-")
		}
		after := &corev1.Secret{}
		s.must(s.Client.Get(t.Context(), key, after))
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("the connection Secret was changed: %s", diff)
		}
		if s.calls("create") != 1 {
			t.Errorf("%d were created", s.calls("create"))
		}
		s.edit(north, func(map[string]any) {
			north.SetAnnotations(map[string]string{meta.AnnotationKeyOrphanOnDelete: "true"})
		})
		s.delete(north)
		s.gone(north)
	}, "berth", "pier", "beacon")
}

// named is an object of a kind with the name north inside and outside.
func (s *stage) named(kind string) *unstructured.Managed {
	return s.object(strings.ToUpper(kind[:1])+kind[1:], "north", map[string]any{
		"forProvider":                map[string]any{"name": "north"},
		"writeConnectionSecretToRef": map[string]any{"namespace": s.Namespace, "name": "north"},
	})
}

// declarePassword has an object declare a password.
func (s *stage) declarePassword(o *unstructured.Managed) {
	s.t.Helper()
	s.must(client.IgnoreAlreadyExists(s.Client.Create(s.t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "declared"},
		Data: map[string][]byte{"password": []byte("declared-password")}})))
	set(o.Object, map[string]any{"namespace": s.Namespace, "name": "declared", "key": "password"}, "spec", "forProvider", "passwordSecretRef")
}

// plant has something of the name north outside that nothing here created.
func (s *stage) plant(kind string, tags map[string]any) {
	s.t.Helper()
	id := kind + "-planted"
	o := map[string]any{"id": id, "name": "north", "tags": tags}
	switch kind {
	case "beacon":
		o["code"] = "planted-code"
	case "pier":
		o["address"], o["metadata"] = "planted-address", []any{}
	}
	s.writeFile(kind, o)
}

// removeAll deletes everything outside.
func (s *stage) removeAll() {
	s.t.Helper()
	all, err := filepath.Glob(filepath.Join(s.folder, s.program+"_*"))
	s.must(err)
	for _, folder := range all {
		s.must(os.RemoveAll(folder))
	}
}

func (s *stage) heal() { s.faults() }

// nudge has an object reconciled.
func (s *stage) nudge(o *unstructured.Managed) {
	s.t.Helper()
	s.edit(o, func(map[string]any) { o.SetLabels(map[string]string{"nudged": "true"}) })
}

// waits waits until an object fails for a reason.
func (s *stage) waits(o *unstructured.Managed, reason failure.Reason, message string) {
	s.t.Helper()
	s.eventually(o, "it waits", func() error {
		got, c := xpv1.FailureOf(o), o.GetCondition(xpv1.TypeSynced)
		if got.Reason != reason || !strings.Contains(c.Message, message) {
			return fmt.Errorf("its failure is %s: %s", got.Reason, c.Message)
		}
		return nil
	})
}

// checkPublished checks that an object has the name of the only external resource, and its connection Secret the values.
func (s *stage) checkPublished(kind string, o *unstructured.Managed) {
	s.t.Helper()
	files, id := s.files(kind), meta.GetExternalName(o)
	if len(files) != 1 || files[id] == nil {
		s.t.Fatalf("outside there is %v, and the external name is %q", files, id)
	}
	if kind == "mooring" { // which has nothing to publish
		return
	}
	published := s.secretOf(o)
	if kind == "beacon" && string(published["code"]) != files[id]["code"] || kind == "berth" && len(published["password"]) == 0 {
		s.t.Errorf("the connection Secret has %d keys, and not the secret of the resource", len(published))
	}
}
