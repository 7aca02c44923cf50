// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/state"
)

// An object of a Terraform kind lives the whole life of a managed resource.
func TestLife(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		files := s.files("berth")
		id := meta.GetExternalName(north)
		if len(files) != 1 || files[id] == nil {
			t.Fatalf("outside there is %v, and the external name is %q", files, id)
		}
		secret := &corev1.Secret{}
		s.must(s.Client.Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "north"}, secret))
		if len(secret.Data["password"]) == 0 {
			t.Errorf("the connection Secret has %d keys, and no password", len(secret.Data))
		}
		s.edit(north, func(o map[string]any) { set(o, int64(3), "spec", "forProvider", "size") })
		s.hasSize(id, 3)
		s.ready(north)
		s.delete(north)
		s.gone(north)
		if files := s.files("berth"); len(files) != 0 {
			t.Errorf("after the deletion there is %v", files)
		}
	})
}

func (s *stage) hasSize(id string, want float64) {
	s.t.Helper()
	s.Eventually(s.t, "the size is as declared", func(context.Context) error {
		if size := s.files("berth")[id]["size"]; size != want {
			return fmt.Errorf("it is %v", size)
		}
		return nil
	})
}

func (s *stage) hasFailed(o *unstructured.Managed, want failure.Reason) error {
	if got := xpv1.FailureOf(o).Reason; got != want {
		return fmt.Errorf("its failure is %q: %s", got, o.GetCondition(xpv1.TypeSynced).Message)
	}
	return nil
}

// A creation that the provider did not answer waits for a person, who tells what it made.
func TestInterruptedCreation(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		s.faults(map[string]any{"verb": "create", "when": "after", "do": "exit", "times": 1})
		north := s.berth("north", 2)
		s.create(north)
		s.eventually(north, "it waits for a person", func() error { return s.hasFailed(north, failure.CreateInterrupted) })
		files := s.files("berth")
		if len(files) != 1 {
			t.Fatalf("outside there is %v", files)
		}
		for id := range files {
			s.edit(north, func(map[string]any) {
				meta.SetExternalName(north, id)
				annotations := north.GetAnnotations()
				delete(annotations, meta.AnnotationKeyExternalCreatePending)
				north.SetAnnotations(annotations)
			})
		}
		s.ready(north)
		if n := len(s.files("berth")); n != 1 {
			t.Errorf("then there are %d", n)
		}
	})
}

// A part that a creation left behind is deleted before the next attempt, which follows soon, and with the object. The failure stays reported
// meanwhile (N99).
func TestPartlyCreated(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.window = time.Hour
		s.run()
		s.faults(map[string]any{"verb": "create", "do": "taint", "times": 1})
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		s.checkOne(north)
		s.faults(map[string]any{"verb": "create", "do": "taint"})
		south := s.berth("south", 2)
		history := s.watch(south)
		s.create(south)
		s.eventually(south, "it fails", func() error {
			if s.calls("create") < 4 {
				return errors.New("it is not tried again")
			}
			return nil
		})
		s.delete(south)
		s.gone(south)
		if n := len(s.files("berth")); n != 1 {
			t.Errorf("then there are %d", n)
		}
		failed := false
		for o := range history {
			switch c := o.GetCondition(xpv1.TypeSynced); {
			case meta.WasDeleted(o):
			case c.Status == corev1.ConditionFalse:
				failed = true
			case failed:
				t.Errorf("between attempts that fail it is Synced: %s", c.Message)
			}
		}
		if !failed {
			t.Error("it never reported the failure")
		}
	})
}

// Long errors of providers are bounded wherever they are shown.
func TestLongErrors(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		s.faults(map[string]any{"verb": "create", "do": "fail", "message": "the pier is closed" + strings.Repeat("ü", 50_000)})
		north := s.berth("north", 2)
		s.create(north)
		for _, of := range []xpv1.ConditionType{xpv1.TypeSynced, xpv1.TypeLastAsyncOperation} {
			s.eventually(north, "it fails", func() error {
				c := north.GetCondition(of)
				if n := len(c.Message); !strings.Contains(c.Message, "the pier is closed") || !strings.Contains(c.Message, "left out") || n > 4096 {
					return fmt.Errorf("%s has a message of %d bytes: %s", of, n, c.Message[:min(n, 300)])
				}
				return nil
			})
		}
	})
}

// A field whose change needs another resource is never changed: the object names it, and heals when it is set back.
func TestFixedField(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		s.edit(north, func(o map[string]any) { set(o, "south", "spec", "forProvider", "name") })
		s.eventually(north, "it reports the field", func() error {
			c := north.GetCondition(xpv1.TypeSynced)
			if c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, "name") {
				return fmt.Errorf("%s: %s", c.Reason, c.Message)
			}
			return nil
		})
		t.Run("it heals when it is set back (N97)", func(t *testing.T) {
			s := s.of(t)
			s.edit(north, func(o map[string]any) { set(o, "north", "spec", "forProvider", "name") })
			s.ready(north)
			if s.calls("create") != 1 || s.calls("delete") != 0 {
				t.Errorf("%d were created, %d deleted", s.calls("create"), s.calls("delete"))
			}
		})
	})
}

// What is changed outside is changed back, and what is deleted outside is not created again without permission.
func TestDrift(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		id := meta.GetExternalName(north)
		object := s.files("berth")[id]
		object["size"] = 1
		s.writeFile("berth", object)
		s.hasSize(id, 2)
		s.ready(north)
		s.vanish(north)
		s.eventually(north, "it is reported lost", func() error { return s.hasFailed(north, failure.ExternalResourceLost) })
		if s.calls("create") != 1 {
			t.Error("it was created again")
		}
	})
}

// What another object has is neither changed nor deleted by one that names it, unless a person says so.
func TestAdoption(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north, south := s.berth("north", 2), s.berth("south", 3)
		s.create(north)
		s.ready(north)
		meta.SetExternalName(south, meta.GetExternalName(north))
		watcher := s.object("Berth", "watcher", map[string]any{"managementPolicies": []any{"Observe"},
			"forProvider": map[string]any{"name": "north", "size": int64(3)}})
		meta.SetExternalName(watcher, meta.GetExternalName(north))
		s.create(south, watcher)
		s.waits(south, failure.ExternalNameTaken, "belongs to Berth north")
		s.ready(watcher)
		s.edit(watcher, func(o map[string]any) { set(o, []any{"*"}, "spec", "managementPolicies") })
		s.waits(watcher, failure.ExternalNameTaken, "belongs to Berth north")
		s.delete(south)
		s.gone(south)
		if s.calls("update") != 0 || s.calls("delete") != 0 {
			t.Errorf("it was changed: there is %v", s.files("berth"))
		}
		s.edit(north, func(map[string]any) {
			annotations := north.GetAnnotations()
			annotations[meta.AnnotationKeyOrphanOnDelete] = "true"
			north.SetAnnotations(annotations)
		})
		s.delete(north)
		s.gone(north)
		s.ready(watcher)
		s.hasSize(meta.GetExternalName(watcher), 3)
	})
}

// An existing resource is observed by its import id, and nothing is changed about it.
func TestObserveOnly(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		watcher := s.object("Berth", "watcher", map[string]any{"managementPolicies": []any{"Observe"}, "forProvider": map[string]any{}})
		meta.SetExternalName(watcher, meta.GetExternalName(north))
		s.create(watcher)
		s.ready(watcher)
		if size, _, _ := kube.NestedFieldNoCopy(watcher.Object, "status", "atProvider", "size"); fmt.Sprint(size) != "2" {
			t.Errorf("it shows the size %v", size)
		}
		updates := s.calls("update")
		s.delete(watcher)
		s.gone(watcher)
		if s.calls("update") != updates || len(s.files("berth")) != 1 {
			t.Error("it was changed")
		}
	})
}

// An unchanged object costs no request to the API server.
func TestIdle(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		var requests atomic.Int64
		s.run(func(c *rest.Config) *rest.Config {
			c.Wrap(func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					if r.URL.Query().Get("watch") == "" {
						requests.Add(1)
					}
					return next.RoundTrip(r)
				})
			})
			return c
		})
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		s.Eventually(t, "ten polls without a request", func(context.Context) error {
			before, polls := requests.Load(), s.calls("read")
			s.Eventually(t, "ten polls", func(context.Context) error {
				if s.calls("read") < polls+10 {
					return errors.New("not yet")
				}
				return nil
			})
			if n := requests.Load() - before; n != 0 {
				return fmt.Errorf("%d requests", n)
			}
			return nil
		})
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Secrets reach the provider, and no message has them.
func TestSecrets(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		s.must(os.WriteFile(filepath.Join(s.folder, "token"), []byte("the-right-token"), 0o600))
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "token"}, Data: map[string][]byte{"token": []byte("a-wrong-token")}}
		s.must(s.Client.Create(t.Context(), secret))
		config := s.object("ProviderConfig", "default", nil)
		s.edit(config, func(o map[string]any) {
			set(o, map[string]any{"folder": s.folder, "leak": true,
				"tokenSecretRef": map[string]any{"namespace": s.Namespace, "name": "token", "key": "token"}}, "spec", "configuration")
		})
		north := s.berth("north", 2)
		s.create(north)
		s.eventually(north, "the wrong token is refused", func() error {
			c := north.GetCondition(xpv1.TypeSynced)
			if c.Status != corev1.ConditionFalse {
				return errors.New("it is not")
			}
			if strings.Contains(c.Message, "a-wrong-token") {
				t.Errorf("the message has the token: %s", c.Message)
			}
			return nil
		})
		before := secret.DeepCopy()
		secret.Data["token"] = []byte("the-right-token")
		s.must(s.Client.Patch(t.Context(), secret, client.MergeFrom(before)))
		s.ready(north)
		thief := s.berth("thief", 2)
		set(thief.Object, map[string]any{"namespace": s.Namespace, "name": state.NamePrefix + string(north.GetUID()), "key": "state"},
			"spec", "forProvider", "passwordSecretRef")
		s.create(thief)
		s.says(thief, "to which nothing may refer")
		s.must(s.Client.Delete(t.Context(), secret)) // it stays while it is in use, and what is deleted with it needs it
		s.nudge(north)
		s.ready(north)
		s.delete(north, thief)
		s.gone(north, thief)
	})
}

// A field gets its value from another object, which is deleted after those that refer to it.
func TestReferences(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		anchor := s.object("Anchor", "anchor", map[string]any{"forProvider": map[string]any{},
			"references": []any{map[string]any{"field": "berthId", "kind": "Berth", "name": "north"}}})
		s.create(anchor)
		s.eventually(anchor, "it waits for the berth", func() error { return s.hasFailed(anchor, failure.WaitingForReferences) })
		north, item := s.berth("north", 2), s.object("Anchor", "item", map[string]any{"forProvider": map[string]any{}, "references": []any{map[string]any{
			"field": "berthId", "kind": "Berth", "name": "north", "value": "status.conditions[0].type"}}})
		s.create(north, item)
		s.ready(north, anchor)
		s.eventually(item, "it has the value of an item", func() error {
			if id, _, _ := kube.NestedString(item.Object, "spec", "forProvider", "berthId"); id == "" {
				return errors.New("it has none")
			}
			return nil
		})
		s.delete(item)
		if id, _, _ := kube.NestedString(anchor.Object, "spec", "forProvider", "berthId"); id != meta.GetExternalName(north) {
			t.Errorf("it has the id %q", id)
		}
		s.delete(north, anchor)
		s.gone(north, anchor)
		spy := s.object("Anchor", "spy", map[string]any{"forProvider": map[string]any{}, "references": []any{map[string]any{
			"field": "berthId", "apiVersion": north.GetAPIVersion(), "kind": "Berth", "name": "north"}}})
		spy.SetGroupVersionKind(s.namespaced("Anchor"))
		spy.SetNamespace(s.Namespace)
		s.create(spy)
		s.waits(spy, failure.InvalidSettings, "Berth is cluster-scoped")
		for apiVersion, kind := range map[string]string{"v1": "ConfigMap", spy.GetAPIVersion(): "ProviderConfig"} {
			odd := s.object("Anchor", "odd-"+strings.ToLower(kind), map[string]any{"forProvider": map[string]any{}, "references": []any{map[string]any{
				"field": "berthId", "apiVersion": apiVersion, "kind": kind, "name": "north"}}})
			s.create(odd)
			s.waits(odd, failure.InvalidSettings, "is no managed resource")
		}
		loop := s.object("Anchor", "loop", map[string]any{"forProvider": map[string]any{}, "references": []any{map[string]any{
			"field": "berthId", "kind": "Anchor", "name": "loop"}}})
		s.create(loop)
		s.waits(loop, failure.InvalidSettings, "refers to itself")
	}, "berth", "anchor")
}

// A part that cannot be deleted is neither forgotten nor doubled.
func TestPartThatStays(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		s.faults(map[string]any{"verb": "create", "do": "taint", "times": 1}, map[string]any{"verb": "delete", "do": "fail", "times": 3})
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		s.checkOne(north)
		if n := s.calls("delete"); n != 4 {
			t.Errorf("the part was deleted after %d attempts", n)
		}
	})
}

// What is created again with permission has a state of its own, with its password.
func TestRecreated(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		former := meta.GetExternalName(north)
		s.must(os.Remove(filepath.Join(s.folder, s.program+"_berth", former+".json")))
		s.faults(map[string]any{"verb": "create", "do": "taint", "times": 1})
		s.edit(north, func(map[string]any) {
			annotations := north.GetAnnotations()
			annotations[meta.AnnotationKeyRecreate] = string(north.GetUID())
			north.SetAnnotations(annotations)
		})
		s.Eventually(t, "it is created again", func(context.Context) error {
			if s.read(north); meta.GetExternalName(north) == former || len(s.files("berth")) != 1 {
				return fmt.Errorf("outside there is %v: %s; %s", s.files("berth"), north.GetCondition(xpv1.TypeSynced).Message, north.GetCondition(xpv1.TypeReady).Message)
			}
			return nil
		})
		s.ready(north)
		s.checkOne(north)
		imports := s.calls("import")
		s.edit(north, func(o map[string]any) { set(o, int64(5), "spec", "forProvider", "size") })
		s.hasSize(meta.GetExternalName(north), 5)
		s.ready(north)
		s.checkOne(north)
		if s.calls("import") != imports {
			t.Error("it was imported, although it has a state")
		}
	})
}

// An object whose state is lost waits for a person, and keeps its connection Secret. The state counts again when it is restored.
func TestLostState(t *testing.T) {
	each(t, func(t *testing.T, s *stage) {
		stop := s.run()
		north := s.berth("north", 2)
		s.create(north)
		s.ready(north)
		stop()
		stored := &corev1.Secret{}
		key := client.ObjectKey{Namespace: s.Namespace, Name: "tfstate-" + string(north.GetUID())}
		s.must(s.Client.Get(t.Context(), key, stored))
		s.must(s.Client.Delete(t.Context(), stored))
		s.run()
		s.edit(north, func(o map[string]any) { set(o, int64(3), "spec", "forProvider", "size") })
		s.eventually(north, "it waits for a person", func() error {
			if got := xpv1.FailureOf(north).Reason; got != failure.StateLost || s.isReady(north) == nil {
				return fmt.Errorf("its failure is %s", got)
			}
			return nil
		})
		if s.calls("update") != 0 {
			t.Error("it was changed without its state")
		}
		restored := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: stored.Labels, Annotations: stored.Annotations},
			Type: stored.Type, Data: stored.Data}
		s.must(s.Client.Create(t.Context(), restored))
		s.ready(north)
		s.checkOne(north)
	})
}
