// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
)

// inList has no import id: what an interrupted creation made is only in a list.
func inList(absentAfter time.Duration, config map[string]any) external.TypeSettings {
	return external.TypeSettings{Ownership: "tags", AbsentAfter: absentAfter, ListConfig: config}
}

type listedCase struct {
	reason   string
	kind     string
	settings external.TypeSettings
	password bool // is declared
	faults   []map[string]any
	between  func(*stage, *unstructured.Managed) // when the object waits
	waits    string                              // in the message then
	stays    string                              // in the message after that; empty: it is ready
	created  int
}

// listedCases are those of TestListedAfterInterruption.
func listedCases() map[string]listedCase {
	const short = 200 * time.Millisecond
	unanswered := map[string]any{"verb": "create", "do": "exit", "times": 1}
	listFails := map[string]any{"verb": "list", "do": "fail"}
	byName := map[string]any{"name": "{name}"}
	return map[string]listedCase{
		"found": {reason: "The list has it.", kind: "berth", settings: inList(time.Hour, nil), password: true, faults: []map[string]any{lostAnswer}, created: 1},
		"found, not included": {reason: "An import by identity shows the label.", kind: "mooring", settings: inList(time.Hour, byName),
			faults: []map[string]any{lostAnswer}, created: 1},
		"found, import by id fails": {reason: "Some providers report a missing resource by an error.", kind: "berth", password: true, created: 1,
			settings: external.TypeSettings{ImportID: "{name}", Ownership: "tags", AbsentAfter: time.Hour},
			faults:   []map[string]any{{"verb": "import", "do": "fail"}, lostAnswer}},
		"lost secret": {reason: "Only the answer had the password.", kind: "berth", settings: inList(time.Hour, nil), faults: []map[string]any{lostAnswer},
			waits: "only the answer to the creation had (password)", created: 1, stays: "(password)"},
		"lost secret, deleted by a person": {reason: "Once it is gone another one may be created.", kind: "berth", settings: inList(short, nil),
			faults: []map[string]any{lostAnswer}, waits: "(password)", between: func(s *stage, _ *unstructured.Managed) { s.removeAll() }, created: 2},
		"absent (N100)": {reason: "Nothing was created, and enough time has passed to know.", kind: "mooring", settings: inList(short, byName),
			faults: []map[string]any{unanswered}, created: 2},
		"absent, too soon to know": {reason: "An external system may show late what it created.", kind: "mooring", settings: inList(time.Hour, byName),
			faults: []map[string]any{unanswered}, waits: "nothing is found in the list of reef_mooring by the label bowline-uid=", created: 1,
			stays: "nothing is found in the list"},
		"shown late": {reason: "What appears while the object waits is its own.", kind: "mooring", settings: inList(time.Hour, byName),
			faults: []map[string]any{unanswered}, waits: "nothing is found in the list", created: 1,
			between: func(s *stage, o *unstructured.Managed) {
				s.plant("mooring", map[string]any{"bowline-uid": string(o.GetUID())})
			}},
		"created by others meanwhile": {reason: "What has no label of the object is not its own.", kind: "mooring", settings: inList(time.Hour, byName),
			faults: []map[string]any{unanswered}, waits: "nothing is found in the list", created: 1, stays: "nothing is found in the list",
			between: func(s *stage, _ *unstructured.Managed) {
				s.plant("mooring", map[string]any{"bowline-uid": "of-another"})
			}},
		"two (N100)": {reason: "Only a person knows which is the object's.", kind: "mooring", settings: inList(time.Hour, byName), faults: []map[string]any{lostAnswer, listFails},
			waits: "tried again", created: 1, stays: "2 have the label bowline-uid=", between: func(s *stage, o *unstructured.Managed) {
				s.plant("mooring", map[string]any{"bowline-uid": string(o.GetUID())})
				s.heal()
			}},
		"list fails": {reason: "An error does not say that there is nothing.", kind: "mooring", settings: inList(short, byName),
			faults: []map[string]any{unanswered, listFails}, waits: "a list of reef_mooring, which is tried again, fails", created: 1, stays: "tried again"},
		"list failed": {reason: "It is tried again.", kind: "mooring", settings: inList(short, byName), faults: []map[string]any{lostAnswer, listFails},
			waits: "tried again", between: func(s *stage, _ *unstructured.Managed) { s.heal() }, created: 1},
		"declared differently meanwhile (N100)": {reason: "The list is that of what the creation was asked for.", kind: "mooring", settings: inList(short, byName),
			faults: []map[string]any{lostAnswer, listFails}, waits: "tried again", created: 1, stays: "name cannot be changed",
			between: func(s *stage, o *unstructured.Managed) {
				s.edit(o, func(in map[string]any) { set(in, "south", "spec", "forProvider", "name") })
				s.heal()
			}},
		"the list needs a setting": {reason: "Without it nothing can be listed.", kind: "mooring", settings: inList(short, nil), faults: []map[string]any{lostAnswer},
			waits: "nothing tells whether it was made: listConfig of spec.typeSettings must have the arguments of list resource reef_mooring", created: 1,
			stays: "listConfig.name is required"},
		"not listed": {reason: "The provider has no lists of it.", kind: "pier", settings: inList(short, nil), faults: []map[string]any{lostAnswer},
			waits: "nothing tells whether it was made: the provider does not list reef_pier", created: 1, stays: "does not list"},
	}
}

// What an interrupted creation made is found in a list of its type by the label of the object. Nothing is created twice.
func TestListedAfterInterruption(t *testing.T) {
	t.Parallel()
	s, cases := newStage(t, "reef", "mooring", "pier", "berth"), listedCases()
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			tc, s := cases[name], s.of(t)
			s.removeAll()
			s.must(os.RemoveAll(filepath.Join(s.folder, "calls.log")))
			s.settings, s.only = tc.settings, tc.kind
			defer s.run()()
			north := s.interrupted(tc.kind, tc.password, tc.waits, tc.faults)
			if tc.between != nil {
				tc.between(s, north)
				s.nudge(north)
			}
			if tc.stays == "" {
				s.ready(north)
				s.checkPublished(tc.kind, north)
			} else {
				s.says(north, tc.stays)
			}
			if got := s.calls("create"); got != tc.created {
				t.Errorf("%s It was created %d times, not %d", tc.reason, got, tc.created)
			}
			s.faults()
			s.edit(north, func(map[string]any) {
				annotations := north.GetAnnotations()
				delete(annotations, meta.AnnotationKeyExternalCreatePending)
				annotations[meta.AnnotationKeyOrphanOnDelete] = "true"
				north.SetAnnotations(annotations)
			})
			s.delete(north)
			s.gone(north)
		})
	}
}

// A replacement waits until the list has no former resource any more, which could be taken for the new one.
func TestReplacedWhileListed(t *testing.T) {
	t.Parallel()
	s := newStage(t, "reef", "mooring")
	s.settings = inList(time.Hour, map[string]any{"name": "{name}"})
	s.run()
	o := s.object("Mooring", "moored", map[string]any{"forProvider": map[string]any{"name": "south"}})
	s.create(o)
	s.ready(o)
	s.plant("mooring", map[string]any{"bowline-uid": string(o.GetUID())})
	s.rename(o, "north", map[string]string{meta.AnnotationKeyAllowReplace: "name"})
	s.says(o, "the former resource mooring-planted north is still in the list")
	if n := s.calls("create"); n != 1 {
		t.Errorf("%d were created", n)
	}
	s.removeAll()
	s.ready(o)
	if files := s.files("mooring"); len(files) != 1 || files[meta.GetExternalName(o)] == nil {
		t.Errorf("%s is replaced by %v", meta.GetExternalName(o), files)
	}
}

// A creation after one that failed in part waits, too.
func TestCreatedAgainWhileListed(t *testing.T) {
	t.Parallel()
	s := newStage(t, "reef", "mooring")
	s.settings = inList(time.Hour, map[string]any{"name": "{name}"})
	s.faults(map[string]any{"verb": "create", "do": "taint", "times": 1}, map[string]any{"verb": "delete", "when": "before", "do": "delay", "delay": "3s", "times": 1})
	o := s.object("Mooring", "moored", map[string]any{"forProvider": map[string]any{"name": "north"}})
	s.create(o)
	s.run()
	s.Eventually(t, "the part is being deleted", func(context.Context) error { return s.faultsAreUsed() })
	s.plant("mooring", map[string]any{"bowline-uid": string(o.GetUID())})
	s.says(o, "the former resource mooring-planted north is still in the list")
	if files := s.files("mooring"); len(files) != 1 {
		t.Errorf("beside the former resource there is another one: %v", files)
	}
	s.removeAll()
	s.ready(o)
	if files := s.files("mooring"); len(files) != 1 || files[meta.GetExternalName(o)] == nil {
		t.Errorf("%s exists as %v", meta.GetExternalName(o), files)
	}
}

// says waits until an object is not in sync with the external system, for a reason in a message.
func (s *stage) says(o *unstructured.Managed, message string) {
	s.t.Helper()
	s.eventually(o, "it says "+message, func() error {
		if c := o.GetCondition(xpv1.TypeSynced); !strings.Contains(c.Message, message) {
			return errors.New(c.Message)
		}
		return nil
	})
}

// Settings that are made after the creation began find what has the label, and do not prove that there is nothing.
func TestListConfiguredLater(t *testing.T) {
	t.Parallel()
	s := newStage(t, "reef", "mooring")
	for name, tc := range map[string]struct {
		before       external.TypeSettings
		fault        map[string]any
		waits, stays string
	}{
		"made": {before: inList(200*time.Millisecond, nil), fault: lostAnswer, waits: "listConfig.name is required"},
		"not made (N100)": {before: inList(200*time.Millisecond, nil), fault: map[string]any{"verb": "create", "do": "exit", "times": 1},
			waits: "listConfig.name is required", stays: "was not configured when the creation began"},
		"made without a label (N100)": {fault: lostAnswer, waits: "nothing tells whether it was made", stays: "no label in tags was noted before"},
	} {
		t.Run(name, func(t *testing.T) {
			s := s.of(t)
			s.removeAll()
			s.settings = tc.before
			stop := s.run()
			s.faults(tc.fault)
			north := s.named("mooring")
			s.create(north)
			s.waits(north, failure.CreateInterrupted, tc.waits)
			stop()
			s.settings = inList(200*time.Millisecond, map[string]any{"name": "{name}"})
			defer s.run()()
			if tc.stays == "" {
				s.ready(north)
				s.checkPublished("mooring", north)
			} else {
				s.waits(north, failure.CreateInterrupted, tc.stays)
				s.edit(north, func(map[string]any) { north.SetAnnotations(nil) }) // a person knows
			}
			s.delete(north)
			s.gone(north)
		})
	}
}

// A lost state is made anew from a list, where an import by the external name fails, and the resource has the label and the name of the object.
func TestLostStateIsListed(t *testing.T) {
	t.Parallel()
	s := newStage(t, "reef", "mooring")
	for name, copied := range map[string]bool{"the object's": false, "a copy with its label": true} {
		t.Run(name, func(t *testing.T) {
			s := s.of(t)
			s.removeAll()
			s.settings = inList(time.Hour, map[string]any{"name": "{name}"})
			stop := s.run()
			north := s.named("mooring")
			s.create(north)
			s.ready(north)
			stop()
			created := s.calls("create")
			s.must(s.Client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "tfstate-" + string(north.GetUID())}}))
			if copied {
				s.removeAll()
				s.plant("mooring", map[string]any{"bowline-uid": string(north.GetUID())})
			} else {
				s.faults(map[string]any{"verb": "import", "do": "fail"})
			}
			lists := s.calls("list")
			defer s.run()()
			s.nudge(north)
			s.eventually(north, "it is looked for", func() error {
				if s.calls("list") == lists {
					return errors.New("nothing is listed")
				}
				return nil
			})
			if copied {
				s.waits(north, failure.StateLost, "is lost: restore Secret tfstate-")
			} else {
				s.polls(2)
				s.ready(north)
			}
			if s.calls("create") != created {
				t.Errorf("%d were created", s.calls("create"))
			}
			s.edit(north, func(map[string]any) {
				north.SetAnnotations(map[string]string{meta.AnnotationKeyOrphanOnDelete: "true"})
			})
			s.delete(north)
			s.gone(north)
		})
	}
}
