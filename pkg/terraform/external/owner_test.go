// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/external"
)

// pier is an object for the pier north, which it adopts by a name if that is not empty.
func (s *stage) pier(name, adopts string) *unstructured.Managed {
	o := s.object("Pier", name, map[string]any{"forProvider": map[string]any{"name": "north"}})
	if adopts != "" {
		meta.SetExternalName(o, adopts)
	}
	return o
}

// The owner of a resource is known by its id and by the name with which it was imported.
func TestAdoptionByOtherNames(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.plant("pier", nil)
		s.run()
		first := s.pier("first", "north")
		s.create(first)
		s.ready(first)
		byName, byID := s.pier("by-name", "north"), s.pier("by-id", "pier-planted")
		s.create(byName, byID)
		s.waits(byName, failure.ExternalNameTaken, "belongs to Pier first")
		s.waits(byID, failure.ExternalNameTaken, "belongs to Pier first")
		s.delete(byName, byID)
		s.gone(byName, byID)
		s.ready(first)
		s.delete(first)
		s.gone(first)
		s.plant("pier", nil)
		first, byName = s.pier("first", "pier-planted"), s.pier("by-name", "north")
		s.create(first)
		s.ready(first)
		s.create(byName)
		s.waits(byName, failure.ExternalNameTaken, "belongs to Pier first")
	}, "pier")
}

// Of objects that adopt a resource at the same time, one gets it.
func TestAdoptionAtOnce(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.plant("pier", nil)
		s.run(func(c *rest.Config) *rest.Config {
			c.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					resp, err := next.RoundTrip(r)
					if strings.HasSuffix(r.URL.Path, "/secrets") && r.Method == http.MethodGet && r.URL.Query().Get("watch") == "" {
						time.Sleep(300 * time.Millisecond) // the others ask, too, before one acts on the answer
					}
					return resp, err
				})
			})
			return c
		})
		all := []*unstructured.Managed{s.pier("a", "north"), s.pier("b", "north"), s.pier("c", "pier-planted")}
		s.create(all...)
		ready := 0
		for _, o := range all {
			s.eventually(o, "it is ready, or refused", func() error {
				if s.isReady(o) == nil {
					return nil
				}
				return s.hasFailed(o, failure.ExternalNameTaken)
			})
		}
		for _, o := range all {
			if s.read(o); s.isReady(o) == nil {
				ready++
			}
		}
		if ready != 1 {
			t.Errorf("%d objects have the resource", ready)
		}
	}, "pier")
}

// What another object takes over is neither changed nor deleted by the former one, which may take it back.
func TestTakeOver_N102(t *testing.T) {
	eachCase(t, map[string]external.TypeSettings{"by state": {}, "by label": {Ownership: "tags"}}, func(t *testing.T, s *stage, tc external.TypeSettings) {
		s.settings = tc
		stop := s.run()
		north := s.pier("north", "")
		s.create(north)
		s.ready(north)
		south := s.pier("south", meta.GetExternalName(north))
		s.create(south)
		s.waits(south, failure.ExternalNameTaken, "belongs to Pier north")
		s.takeOver(south, north)
		s.takeOver(north, south)
		stop()
		defer s.run()()
		s.takeOver(south, north)
		updates := s.calls("update")
		s.edit(north, func(o map[string]any) {
			set(o, map[string]any{"place": "harbour"}, "spec", "forProvider", "tags")
		})
		s.waits(north, failure.ExternalNameTaken, "belongs to Pier south")
		s.delete(north)
		s.gone(north)
		if s.calls("update") != updates || s.calls("delete") != 0 || len(s.files("pier")) != 1 {
			t.Errorf("the former object changed it: %v", s.files("pier"))
		}
		s.nudge(south)
		s.ready(south)
		s.delete(south)
		s.gone(south)
		if files := s.files("pier"); len(files) != 0 {
			t.Errorf("after its deletion there is %v", files)
		}
	}, "pier")
}

// An object takes back what another one has handed on to a third one.
func TestTakeOverOfThird_N102(t *testing.T) {
	eachCase(t, map[string]external.TypeSettings{"by state": {}, "by label": {Ownership: "tags"}}, func(t *testing.T, s *stage, tc external.TypeSettings) {
		s.settings = tc
		s.run()
		north := s.pier("north", "")
		s.create(north)
		s.ready(north)
		south, west := s.pier("south", meta.GetExternalName(north)), s.pier("west", meta.GetExternalName(north))
		s.create(south)
		s.takeOver(south, north)
		s.create(west)
		s.takeOver(west, south)
		s.takeOver(north, west)
		s.delete(south, west)
		s.gone(south, west)
		s.ready(north)
		if n := len(s.files("pier")); n != 1 {
			t.Errorf("after the deletion of the others there are %d", n)
		}
		s.delete(north)
		s.gone(north)
	}, "pier")
}

// takeOver has an object take over what another one has.
func (s *stage) takeOver(o, from *unstructured.Managed) {
	s.t.Helper()
	s.permitTakeOver(o, string(from.GetUID()))
	s.ready(o)
	s.waits(from, failure.ExternalNameTaken, "belongs to Pier "+o.GetName())
	s.eventually(o, "the permission is used", func() error {
		if uid := o.GetAnnotations()[meta.AnnotationKeyTakeOverFrom]; uid != "" {
			return fmt.Errorf("it is still there, for %s", uid)
		}
		return s.isReady(o)
	})
}

// takesOver is an object with an external name that may take over what another one has.
func takesOver(o *unstructured.Managed, from string) *unstructured.Managed {
	annotations := o.GetAnnotations()
	annotations[meta.AnnotationKeyTakeOverFrom] = from
	o.SetAnnotations(annotations)
	return o
}

func (s *stage) permitTakeOver(o *unstructured.Managed, from string) {
	s.t.Helper()
	s.edit(o, func(map[string]any) { takesOver(o, from) })
}

// What has the label of others is neither changed nor deleted, and is taken back with permission.
func TestLabelOfAnother(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.settings = external.TypeSettings{Ownership: "tags"}
		s.run()
		north := s.pier("north", "")
		s.create(north)
		s.ready(north)
		id := meta.GetExternalName(north)
		relabel := func() {
			object := s.files("pier")[id]
			object["tags"] = map[string]any{meta.ExternalLabelUID: "of-another"}
			s.writeFile("pier", object)
			s.waits(north, failure.ExternalNameTaken, "belongs to the object with UID of-another")
		}
		relabel()
		if n := s.calls("update"); n != 0 {
			t.Errorf("it was changed %d times", n)
		}
		s.permitTakeOver(north, "of-another")
		s.ready(north)
		relabel()
		s.delete(north)
		s.gone(north)
		if s.calls("delete") != 0 || len(s.files("pier")) != 1 {
			t.Error("it was deleted")
		}
	}, "pier")
}

// Wherever the controllers are killed during a takeover, one object has the resource in the end, and the deletion of the other one leaves it.
func TestKilledTakeOver(t *testing.T) {
	last := 3
	if os.Getenv(variableAll) != "" {
		last = 100
	}
	eachKill(t, func(t *testing.T, s *stage, after bool) {
		for at, killed := 1, true; killed && at <= last; at++ {
			stop := s.run()
			north := s.pier("north", "")
			s.create(north)
			s.ready(north)
			stop()
			south := takesOver(s.pier("south", meta.GetExternalName(north)), string(north.GetUID()))
			s.create(south)
			killed = s.kill(at, after, func() bool {
				s.read(south)
				return s.isReady(south) == nil
			})
			stop = s.run()
			s.ready(south)
			s.nudge(north)
			s.waits(north, failure.ExternalNameTaken, "belongs to Pier south")
			s.delete(north)
			s.gone(north)
			if n := len(s.files("pier")); n != 1 {
				t.Errorf("after a kill at write %d (after it: %v) and the deletion of the former object there are %d", at, after, n)
			}
			s.delete(south)
			s.gone(south)
			stop()
		}
	}, "pier")
}

// An object that may not have an external resource takes nothing from the one that has it.
func TestRefusedAdoption_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		strict := s.object("ProviderConfig", "strict", map[string]any{"adoption": "None", "configuration": map[string]any{"folder": s.folder}})
		s.create(strict)
		s.run()
		north := s.pier("north", "")
		s.create(north)
		s.ready(north)
		thief := takesOver(s.pier("thief", meta.GetExternalName(north)), string(north.GetUID()))
		set(thief.Object, "strict", "spec", "providerConfigRef", "name")
		s.create(thief)
		s.waits(thief, failure.ExternalNameTaken, "does not permit to adopt it")
		s.nudge(north)
		s.ready(north)
		if taken := s.stored(north).Data["takenBy"]; taken != nil {
			t.Errorf("its state says that %s has it", taken)
		}
		s.delete(thief)
		s.gone(thief)
		s.delete(north)
		s.gone(north)
		if files := s.files("pier"); len(files) != 0 {
			t.Errorf("after its deletion there is %v", files)
		}
	}, "pier")
}

// An object that takes over an external resource has the secrets that only the state of the former object had.
func TestInheritedSecrets_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		password := string(s.secretOf(north)["password"])
		south := s.berth("south", 2)
		set(south.Object, "north", "spec", "forProvider", "name")
		meta.SetExternalName(south, meta.GetExternalName(north))
		takesOver(south, string(north.GetUID()))
		s.create(south)
		s.ready(south)
		if got := string(s.secretOf(south)["password"]); got != password || password == "" {
			t.Errorf("its password is %q, and that of the former object was %q", got, password)
		}
	})
}

// secretOf is the content of the connection Secret of an object.
func (s *stage) secretOf(o *unstructured.Managed) map[string][]byte {
	s.t.Helper()
	secret := &corev1.Secret{}
	s.must(s.Client.Get(s.t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: o.GetName()}, secret))
	return secret.Data
}

// An object of one TerraformProvider does not adopt what an object of another one of the same provider has.
func TestOwnersOfTwoProviders_N102(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		other := newStage(t, s.program, "pier")
		other.Namespace = s.Namespace // the states of all are in one
		other.lead(s.folder)
		s.run()
		other.run()
		north := s.pier("north", "")
		s.create(north)
		s.ready(north)
		thief := other.pier("thief", meta.GetExternalName(north))
		other.create(thief)
		other.waits(thief, failure.ExternalNameTaken, "belongs to Pier north")
		other.delete(thief)
		other.gone(thief)
		s.ready(north)
		if files := s.files("pier"); len(files) != 1 {
			t.Errorf("after the deletion of the other object there is %v", files)
		}
	}, "pier")
}
