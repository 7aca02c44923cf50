// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
)

// Resources of two external systems may have one name. Where an object's ProviderConfig is led to another one, what has its name there belongs
// to the object that has it.
func TestOwnersInTwoSystems_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		there := s.of(t)
		there.folder = t.TempDir()
		s.create(s.object("ProviderConfig", "there", map[string]any{"configuration": map[string]any{"folder": there.folder}}))
		s.plant("pier", nil)
		there.plant("pier", nil)
		s.run()
		north, south := s.pier("north", "pier-planted"), s.pier("south", "pier-planted")
		set(south.Object, "there", "spec", "providerConfigRef", "name")
		s.create(north, south)
		s.ready(north, south)
		s.lead(there.folder)
		s.waits(north, failure.ExternalNameTaken, "belongs to Pier south")
		s.delete(north)
		s.eventually(north, "it says why it is not deleted", func() error { return s.hasFailed(north, failure.ExternalSystemChanged) })
		s.lead(s.folder)
		s.gone(north)
		if here, elsewhere := s.files("pier"), there.files("pier"); len(here) != 0 || len(elsewhere) != 1 {
			t.Errorf("there are %v and %v", here, elsewhere)
		}
		s.delete(south)
		s.gone(south)
	}, "pier")
}

// A resource that has the name of the object's own one in another external system is neither changed nor deleted, unless a label, its settings or a
// person show that it is the same.
func TestSameNameElsewhere_N55_N102(t *testing.T) {
	eachCase(t, map[string]external.TypeSettings{"by settings": {}, "by label": {Ownership: "tags"}}, func(t *testing.T, s *stage, tc external.TypeSettings) {
		s.settings = tc
		elsewhere := s.of(t)
		elsewhere.folder = t.TempDir()
		s.run()
		north := s.pier("north", "")
		s.create(north)
		s.ready(north)
		there := s.theOnly("pier")
		there["tags"] = tree{"owner": "others"}
		elsewhere.writeFile("pier", there)
		s.lead(elsewhere.folder)
		s.eventually(north, "it says that it is another one", func() error { return s.hasFailed(north, failure.ExternalSystemChanged) })
		s.delete(north)
		s.eventually(north, "it says why it is not deleted", func() error {
			if !meta.WasDeleted(north) {
				return errors.New("it is not being deleted")
			}
			return s.hasFailed(north, failure.ExternalSystemChanged)
		})
		if diff := cmp.Diff(there, elsewhere.theOnly("pier")); diff != "" {
			t.Errorf("what others have was changed, -want +got:\n%s", diff)
		}
		message := north.GetCondition(xpv1.TypeSynced).Message
		_, accepted, _ := strings.Cut(message, meta.AnnotationKeyRestoredAs+" to \"")
		accepted, _, _ = strings.Cut(accepted, `"`)
		s.edit(north, func(o map[string]any) { set(o, accepted, "metadata", "annotations", meta.AnnotationKeyRestoredAs) })
		s.gone(north)
		s.lead(s.folder)
		if left := len(elsewhere.files("pier")); left != 0 {
			t.Errorf("%d are left of what a person accepted", left)
		}
	}, "pier")
}

// Settings that lead nowhere else change nothing, and give nobody the resources of others, however late an object notices them.
func TestHarmlessSettings_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north, paused := s.pier("north", ""), s.pier("paused", "")
		set(paused.Object, "paused", "spec", "forProvider", "name")
		s.create(north, paused)
		s.ready(north, paused)
		s.edit(paused, func(o map[string]any) { set(o, "true", "metadata", "annotations", "crossplane.io/paused") })
		s.edit(s.object("ProviderConfig", "default", nil), func(o map[string]any) {
			set(o, []any{tree{"name": "HARBOUR", "value": "1"}}, "spec", "environment")
		})
		thief := s.pier("thief", meta.GetExternalName(paused))
		s.create(thief)
		s.waits(thief, failure.ExternalNameTaken, "belongs to Pier paused")
		s.polls(2)
		s.nudge(north)
		s.ready(north)
		if s.calls("update")+s.calls("delete") != 0 || s.calls("create") != 2 {
			t.Errorf("there were %d updates, %d deletions and %d creations", s.calls("update"), s.calls("delete"), s.calls("create"))
		}
	}, "pier")
}

// An object of a namespace that only observes, through a configuration that all namespaces use, gets no secrets of others. Once it had the
// resource itself, it keeps them.
func TestObservedSecrets_N103(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.plant("beacon", nil)
		shared := s.object("ClusterProviderConfig", "shared-"+s.Namespace, tree{"configuration": tree{"folder": s.folder}})
		shared.SetGroupVersionKind(s.namespaced(shared.GetKind()))
		own := s.object("ProviderConfig", "own", tree{"configuration": tree{"folder": s.folder}})
		own.SetGroupVersionKind(s.namespaced(own.GetKind()))
		own.SetNamespace(s.Namespace)
		s.create(shared, own)
		s.run()
		beacon := func(name, config, kind string) *unstructured.Managed {
			o := s.object("Beacon", name, tree{"forProvider": tree{"name": name}, "providerConfigRef": tree{"kind": kind, "name": config},
				"writeConnectionSecretToRef": tree{"name": name}})
			o.SetGroupVersionKind(s.namespaced("Beacon"))
			o.SetNamespace(s.Namespace)
			return o
		}
		thief, team := beacon("thief", shared.GetName(), "ClusterProviderConfig"), beacon("team", "own", "ProviderConfig")
		for _, o := range []*unstructured.Managed{thief, team} {
			set(o.Object, []any{"Observe"}, "spec", "managementPolicies")
			set(o.Object, "north", "spec", "forProvider", "name")
			meta.SetExternalName(o, "beacon-planted")
		}
		mine, turned := beacon("mine", shared.GetName(), "ClusterProviderConfig"), beacon("turned", "own", "ProviderConfig")
		s.create(thief, team, mine, turned)
		s.ready(thief, team, mine, turned)
		s.edit(turned, func(o map[string]any) {
			set(o, []any{"Observe"}, "spec", "managementPolicies")
			set(o, tree{"kind": "ClusterProviderConfig", "name": shared.GetName()}, "spec", "providerConfigRef")
		})
		s.eventually(turned, "it gets no secrets through the shared configuration", func() error {
			if c := turned.GetCondition(xpv1.TypeReady); !strings.Contains(c.Message, "not published") {
				return errors.New(c.Message)
			}
			return nil
		})
		code := string(s.secretOf(mine)["code"])
		s.edit(mine, func(o map[string]any) { set(o, []any{"Observe"}, "spec", "managementPolicies") })
		s.ready(mine)
		s.nudge(mine)
		s.ready(mine)
		if got := string(s.secretOf(mine)["code"]); got != code || code == "" {
			t.Errorf("what an object created has code %q, and %q while it only observes", code, got)
		}
		if got := string(s.secretOf(team)["code"]); got != "planted-code" {
			t.Errorf("through its own configuration a team gets code %q", got)
		}
		stolen := &corev1.Secret{}
		err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "thief"}, stolen)
		if client.IgnoreNotFound(err) != nil || stolen.Data["code"] != nil || !strings.Contains(thief.GetCondition(xpv1.TypeReady).Message, "not published") {
			t.Errorf("through a shared configuration it gets %v, error %v: %s", stolen.Data, err, thief.GetCondition(xpv1.TypeReady).Message)
		}
	}, "beacon")
}

// namespaced is a kind of the provider in namespaces.
func (s *stage) namespaced(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: s.name + ".tf.m.bowline.dev", Version: kinds.Version, Kind: kind}
}
