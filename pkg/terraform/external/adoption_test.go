// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
)

// What is being created is not adopted meanwhile, under whatever name, nor taken over.
func TestAdoptedDuringCreation_N102(t *testing.T) {
	type adoption struct {
		settings         external.TypeSettings
		byID, takingOver bool
		unnoted          bool
	}
	eachCase(t, map[string]adoption{
		"by the import id":                     {settings: external.TypeSettings{ImportID: "{name}"}},
		"by a name":                            {},
		"by the id":                            {byID: true},
		"by the id, without a journal":         {byID: true, unnoted: true},
		"by the id of one with a label":        {settings: external.TypeSettings{Ownership: "tags"}, byID: true},
		"with permission, by the id":           {byID: true, takingOver: true},
		"with permission, of one with a label": {settings: external.TypeSettings{Ownership: "tags"}, byID: true, takingOver: true},
	}, func(t *testing.T, s *stage, tc adoption) {
		s.settings, s.unnoted = tc.settings, tc.unnoted
		s.run()
		s.faults(map[string]any{"verb": "create", "when": "after", "do": "delay", "delay": "3s", "times": 1})
		north := s.pier("north", "")
		s.create(north)
		s.awaitOne("pier")
		name := "north"
		if tc.byID {
			name = s.theOnly("pier")["id"].(string)
		}
		thief := s.pier("thief", name)
		if tc.takingOver {
			takesOver(thief, string(north.GetUID()))
		}
		history := s.watch(thief)
		s.create(thief)
		owner, other := north, thief
		if tc.takingOver {
			owner, other = thief, north
		}
		s.ready(owner)
		s.waits(other, failure.ExternalNameTaken, "belongs to Pier "+owner.GetName())
		s.read(north)
		for o := range history {
			adopted, created := o.GetCondition(xpv1.TypeReady).LastTransitionTime, meta.GetExternalCreateSucceeded(north)
			if s.isReady(o) == nil && (!tc.takingOver || adopted.Time.Before(created.Add(-time.Second))) {
				t.Errorf("it is adopted at %s, and is created at %s", adopted, created)
			}
			if s.isReady(o) == nil || strings.Contains(o.GetCondition(xpv1.TypeSynced).Message, "belongs to") {
				break
			}
		}
		s.delete(other)
		s.gone(other)
		s.nudge(owner)
		s.ready(owner)
		if n := len(s.files("pier")); n != 1 {
			t.Errorf("after the deletion of the other object there are %d", n)
		}
		s.delete(owner)
		s.gone(owner)
	}, "pier")
}

// withoutState is an object with an external resource whose state was deleted while no controllers ran, and that state.
func (s *stage) withoutState() (north *unstructured.Managed, kept *corev1.Secret) {
	s.t.Helper()
	stop := s.run()
	north = s.pier("north", "")
	s.create(north)
	s.ready(north)
	stop()
	kept = s.stored(north)
	s.must(s.Client.Delete(s.t.Context(), kept.DeepCopy()))
	kept.ResourceVersion = ""
	return north, kept
}

// An object whose state is lost has its resource still.
func TestOwnersWithoutState_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		north, kept := s.withoutState()
		s.run()
		byID, byName := s.pier("by-id", meta.GetExternalName(north)), s.pier("by-name", "north")
		s.create(byID, byName)
		for _, thief := range []*unstructured.Managed{byID, byName} {
			s.waits(thief, failure.ExternalNameTaken, "belongs to Pier north")
		}
		s.delete(byID, byName)
		s.gone(byID, byName)
		s.waits(north, failure.StateLost, "restore Secret "+kept.Name)
		s.must(s.Client.Create(t.Context(), kept))
		s.nudge(north)
		s.ready(north)
		if s.calls("update")+s.calls("delete") > 0 || len(s.files("pier")) != 1 {
			t.Errorf("others changed it: %v", s.files("pier"))
		}
	}, "pier")
}

// A state that is restored after another object took the resource over does not count.
func TestTakenOverWithoutState_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		north, kept := s.withoutState()
		stop := s.run()
		south := s.pier("south", meta.GetExternalName(north))
		s.create(south)
		s.waits(south, failure.ExternalNameTaken, "belongs to Pier north")
		s.takeOver(south, north)
		stop()
		s.run()
		if err := s.Client.Create(t.Context(), kept); !apierrors.IsAlreadyExists(err) {
			t.Errorf("the former state is stored again: %v", err)
		}
		s.nudge(north)
		s.waits(north, failure.ExternalNameTaken, "belongs to Pier south")
		s.delete(north)
		s.gone(north)
		s.nudge(south)
		s.ready(south)
		if n := len(s.files("pier")); n != 1 {
			t.Errorf("after the deletion of the former object there are %d", n)
		}
	}, "pier")
}

// What an object has does not wait for the creations of others when its ProviderConfig changes.
func TestCreationsOfOthers_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.pier("north", "")
		s.create(north)
		s.ready(north)
		south := s.beingCreated("south", "5s")
		history := s.watch(north)
		s.edit(s.object("ProviderConfig", "default", nil), func(o map[string]any) {
			set(o, []any{tree{"name": "HARBOUR", "value": "1"}}, "spec", "environment")
		})
		s.nudge(north)
		s.ready(north, south)
		for o := range history {
			if c := o.GetCondition(xpv1.TypeSynced); c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "south") {
				t.Errorf("it waits for another one: %s", c.Message)
			}
			if o.GetResourceVersion() == north.GetResourceVersion() {
				break
			}
		}
	}, "pier")
}

// An object that adopted its resource, and whose state is lost, deletes it also while another one is being created.
func TestDeletionDuringCreations_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.plant("pier", nil)
		stop := s.run()
		north := s.pier("north", "pier-planted")
		s.create(north)
		s.ready(north)
		stop()
		s.must(s.Client.Delete(t.Context(), s.stored(north)))
		pause := func(paused string) {
			s.edit(north, func(map[string]any) {
				annotations := north.GetAnnotations()
				annotations[meta.AnnotationKeyReconciliationPaused] = paused
				north.SetAnnotations(annotations)
			})
		}
		pause("true")
		s.run()
		s.beingCreated("south", "5s")
		s.delete(north)
		pause("false")
		s.gone(north)
		if _, left := s.files("pier")["pier-planted"]; left {
			t.Error("it is left")
		}
	}, "pier")
}

// An adoption waits for the creations that had begun when it found the resource, and for no others.
func TestAdoptionBesideCreations_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.plant("pier", nil)
		s.run()
		s.beingCreated("south", "5s")
		north := s.pier("north", "pier-planted")
		s.create(north)
		s.Eventually(t, "it waits for the creation", func(context.Context) error {
			if n := s.calls("import"); n < 2 {
				return fmt.Errorf("it asked %d times", n)
			}
			return nil
		})
		east := s.beingCreated("east", "15s")
		s.ready(north)
		s.read(east)
		if !meta.GetExternalCreateSucceeded(east).IsZero() {
			t.Error("it waited for a creation that began later")
		}
	}, "pier")
}

// A resource that is made again after an adoption of the former one waited is not adopted while it is created.
func TestAdoptedDuringAnotherCreation_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		south := s.beingCreated("south", "3s")
		north := s.pier("north", "south")
		s.create(north)
		s.waits(north, failure.ExternalNameTaken, "belongs to Pier south")
		s.delete(south)
		s.gone(south)
		again := s.beingCreated("south", "5s")
		s.nudge(north)
		s.ready(again)
		s.waits(north, failure.ExternalNameTaken, "belongs to Pier south")
	}, "pier")
}

// beingCreated is an object that is being created beside others, for a while.
func (s *stage) beingCreated(name, lasting string) *unstructured.Managed {
	s.t.Helper()
	before := len(s.files("pier"))
	s.faults(map[string]any{"verb": "create", "when": "after", "do": "delay", "delay": lasting, "times": 1})
	o := s.object("Pier", name, map[string]any{"forProvider": map[string]any{"name": name}})
	s.create(o)
	s.Eventually(s.t, "it is being created", func(context.Context) error {
		if n := len(s.files("pier")); n <= before {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
	return o
}

// An external name that nothing has creates nothing, unless it is removed.
func TestUnknownExternalName_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.pier("north", "pier-none")
		s.create(north)
		s.waits(north, failure.ExternalResourceMissing, "nothing has the external name \"pier-none\"")
		s.polls(3)
		if files := s.files("pier"); len(files) != 0 {
			t.Errorf("it created %v", files)
		}
		s.edit(north, func(map[string]any) { north.SetAnnotations(nil) })
		s.ready(north)
		gone := s.pier("gone", "pier-none")
		s.create(gone)
		s.waits(gone, failure.ExternalResourceMissing, "nothing has the external name")
		s.delete(gone)
		s.gone(gone)
	}, "pier")
}
