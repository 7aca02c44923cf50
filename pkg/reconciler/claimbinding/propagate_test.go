// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// agreed checks that the claim has a copy of the item's Secret and that both agree on it, and nothing else.
func (s *stage) agreed(name string, claim *shop.ItemClaim, item *shop.Item) {
	s.t.Helper()
	source, to := &corev1.Secret{}, &corev1.Secret{}
	if !s.get(item.Spec.WriteConnectionSecretToReference.Name, source) || !s.get(name, to) {
		s.t.Fatal("one of the Secrets is not there")
	}
	if diff := cmp.Diff(source.Data, to.Data); diff != "" || to.Type != xpv1.SecretTypeConnection {
		s.t.Errorf("type %q; data, -source +copy:\n%s", to.Type, diff)
	}
	if !metav1.IsControlledBy(to, claim) || !metav1.IsControlledBy(source, item) {
		s.t.Errorf("owners of the copy %v, of the source %v", to.OwnerReferences, source.OwnerReferences)
	}
	if !meta.PropagationAllowed(source, to) || len(meta.PropagatesTo(source)) != 1 {
		s.t.Errorf("annotations of the source %v, of the copy %v", source.Annotations, to.Annotations)
	}
}

// The claim's copy of the connection Secret.
func TestPropagate(t *testing.T) {
	t.Parallel()
	t.Run("R270 R271 R272 the claim gets a copy of its own, and both sides agree", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		s.agreed("orders-connection", claim, item)
	})
	t.Run("R278 a claim that names no Secret gets none", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, _ := s.bound(func(c *shop.ItemClaim) { c.Spec.WriteConnectionSecretToReference = nil })
		list := &corev1.SecretList{}
		if err := s.env.Client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		for _, secret := range list.Items {
			if metav1.IsControlledBy(&secret, claim) {
				t.Errorf("it has %s", secret.Name)
			}
		}
	})
	t.Run("R278 another name: the old copy goes, the new one appears", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		s.pass()
		s.agreed("renamed", claim, item)
		if s.secret("orders-connection") != nil {
			t.Error("the old copy is still there")
		}
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference = nil })
		s.pass()
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		if to := meta.PropagatesTo(source); len(to) > 0 || s.secret("renamed") != nil {
			t.Errorf("the source goes on to %v", to)
		}
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("R271 a copy that somebody deleted, or whose marks somebody forged, is put right", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		forged := &corev1.Secret{}
		s.get("orders-connection", forged)
		s.edit(forged, func() {
			forged.Annotations[meta.AnnotationKeyPropagateFromName] = "another"
			forged.Data["password"] = []byte("forged")
		})
		s.pass()
		s.agreed("orders-connection", claim, item)
		s.delete(forged)
		s.pass()
		s.agreed("orders-connection", claim, item)
	})
}

// The copy follows its source, and has what the claim derives from it.
func TestContent(t *testing.T) {
	t.Parallel()
	t.Run("R271 a source that was published anew is followed", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		s.delete(source)
		s.pass()
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
		s.saysSynced("is gone", "orders-connection", "by itself")
		if diff := cmp.Diff(map[string]string{"password": "hunter2", "username": "admin"}, s.secret("orders-connection")); diff != "" {
			t.Errorf("meanwhile, -want +got:\n%s", diff)
		}
		s.ready(item, "hunter3")
		s.pass()
		s.agreed("orders-connection", claim, item)
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("R270 keys that the claim derives are there from the beginning", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.bound(func(c *shop.ItemClaim) {
			c.Annotations = map[string]string{connection.AnnotationKeyConnectionKeys: `{"LOGIN": "$(username):$(password)"}`}
		})
		if got := s.secret("orders-connection")["LOGIN"]; got != "admin:hunter2" {
			t.Errorf("LOGIN is %q", got)
		}
	})
	t.Run("R282 a mistake in derived keys shows, and keeps nothing else from working", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, _ := s.bound(nil)
		s.edit(claim, func() {
			claim.Annotations[connection.AnnotationKeyConnectionKeys] = `{"URL": "$(nothing)"}`
		})
		for range 2 {
			s.pass()
			s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
		}
		if diff := cmp.Diff([]event.Reason{claimbinding.ReasonBadConnectionKeys}, s.events.Take()); diff != "" {
			t.Errorf("events, -want +got:\n%s", diff)
		}
	})
}

// saysSynced checks the message of condition Synced.
func (s *stage) saysSynced(parts ...string) {
	s.t.Helper()
	said := s.claimOf(s.claim).GetCondition(xpv1.TypeSynced).Message
	for _, part := range parts {
		if !strings.Contains(said, part) {
			s.t.Errorf("condition Synced should say %q, it says %q", part, said)
		}
	}
}

// publishAnew replaces the item's connection Secret.
func (s *stage) publishAnew(item *shop.Item, data map[string]string) {
	s.t.Helper()
	source := &corev1.Secret{}
	s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
	s.delete(source)
	source.ObjectMeta = metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name, OwnerReferences: source.OwnerReferences}
	source.Data, source.StringData = nil, data
	s.create(source)
}

// A source that was published anew without all that it had takes nothing from the copy.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, change func(*shop.ItemClaim)) (*stage, *shop.ItemClaim, *shop.Item) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(change)
		s.publishAnew(item, map[string]string{"username": "root"})
		s.pass()
		return s, claim, item
	}
	holds := func(s *stage, want map[string]string) {
		s.t.Helper()
		if diff := cmp.Diff(want, s.secret("orders-connection")); diff != "" {
			s.t.Errorf("the copy, -want +got:\n%s", diff)
		}
	}
	t.Run("R270 R284 N22 the copy keeps the key, follows the others, and the claim says so once", func(t *testing.T) {
		s, _, item := begin(t, func(c *shop.ItemClaim) {
			c.Annotations = map[string]string{connection.AnnotationKeyConnectionKeys: `{"LOGIN": "$(username):$(password)"}`}
		})
		for range 2 {
			holds(s, map[string]string{"username": "root", "password": "hunter2", "LOGIN": "root:hunter2"})
			s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
			s.saysSynced("lost password, which", `"orders-connection"`, "ask your platform team")
			s.pass()
		}
		if diff := cmp.Diff([]event.Reason{claimbinding.ReasonBadConnectionKeys}, s.events.Take()); diff != "" {
			t.Errorf("events, -want +got:\n%s", diff)
		}
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		s.edit(source, func() { source.Data["password"] = []byte("hunter3") })
		s.pass()
		holds(s, map[string]string{"username": "root", "password": "hunter3", "LOGIN": "root:hunter3"})
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("R278 N22 another name takes nothing away either", func(t *testing.T) {
		s, claim, item := begin(t, nil)
		s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		s.pass()
		holds(s, map[string]string{"username": "root", "password": "hunter2"})
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		s.edit(source, func() { source.Data["password"] = []byte("hunter3") })
		s.pass()
		if s.secret("orders-connection") != nil {
			t.Error("it is still there")
		}
	})
	t.Run("R270 who can do without deletes the copy", func(t *testing.T) {
		s, claim, item := begin(t, nil)
		s.delete(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "orders-connection"}})
		s.pass()
		s.agreed("orders-connection", claim, item)
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("R292 N22 a key that the source lost otherwise is missed", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		_, item := s.bound(nil)
		s.edit(item, func() { item.Annotations[managed.AnnotationKeyCreatedKeys] = "password,token" })
		s.pass()
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
		s.saysSynced("lost token: ask your platform team")
	})
	t.Run("R292 R289 a copy of something else keeps nothing", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		forged := &corev1.Secret{}
		s.get("orders-connection", forged)
		s.edit(forged, func() {
			forged.Annotations[meta.AnnotationKeyPropagateFromName] = "another"
			forged.Data["more"] = []byte("forged")
		})
		s.pass()
		s.agreed("orders-connection", claim, item)
	})
}

// A source that somebody deletes, with all controllers: nothing is lost, or it is said what.
func TestLostSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shelf.once = true
	stop := w.start(setUp)
	w.create(w.newClass(nil), w.newClaim("orders", nil))
	w.shows("orders", xpv1.ReasonAvailable)
	lose := func() *corev1.Secret {
		source := &corev1.Secret{}
		if !w.get(w.item().Spec.WriteConnectionSecretToReference.Name, source) {
			t.Fatal("there is no source")
		}
		w.delete(source)
		return source
	}
	says := func(synced xpv1.ConditionReason) {
		t.Helper()
		w.env.Eventually(t, "the claim says "+string(synced), func(context.Context) error {
			if got := w.claimOf("orders").GetCondition(xpv1.TypeSynced); got.Reason != synced {
				return fmt.Errorf("it says %s: %s", got.Reason, got.Message)
			}
			return nil
		})
	}
	t.Run("R208 R271 N22 while they run it comes back whole", func(t *testing.T) {
		was := lose()
		w.env.Eventually(t, "both agree", func(context.Context) error {
			source, to := &corev1.Secret{}, &corev1.Secret{}
			if !w.get(was.Name, source) || !w.get("orders-connection", to) || source.UID == was.UID || !meta.PropagationAllowed(source, to) {
				return errors.New("they do not")
			}
			return nil
		})
		w.agreed("orders-connection", w.claimOf("orders"), w.item())
		says(xpv1.ReasonReconcileSuccess)
	})
	t.Run("R208 R270 N22 while they do not the copy keeps it, and both say so", func(t *testing.T) {
		stop()
		lose()
		w.start(setUp)
		says(xpv1.ReasonReconcileError)
		w.env.Eventually(t, "it is said which", func(context.Context) error {
			if said := w.claimOf("orders").GetCondition(xpv1.TypeSynced).Message; !strings.Contains(said, "lost password") {
				return errors.New(said)
			}
			return nil
		})
		w.shows("orders", xpv1.ReasonAvailable)
		if got := w.secret("orders-connection")["password"]; got != "of "+w.item().Name {
			t.Errorf("the copy has password %q", got)
		}
		w.env.Eventually(t, "the managed resource says so", func(context.Context) error {
			if said := w.item().GetCondition(xpv1.TypeSynced).Message; !strings.Contains(said, "lost password") {
				return errors.New(said)
			}
			return nil
		})
	})
	t.Run("R284 N22 what somebody adds to the source heals all", func(t *testing.T) {
		source := &corev1.Secret{}
		w.get(w.item().Spec.WriteConnectionSecretToReference.Name, source)
		w.edit(source, func() { source.Data["password"] = []byte("reset") })
		says(xpv1.ReasonReconcileSuccess)
		w.agreed("orders-connection", w.claimOf("orders"), w.item())
	})
}

// A copy that its holder made immutable is made anew when it is out of step.
func TestImmutableCopy(t *testing.T) {
	t.Parallel()
	freeze := func(t *testing.T) (*stage, *shop.ItemClaim, *shop.Item, *corev1.Secret) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		to := &corev1.Secret{}
		s.get("orders-connection", to)
		s.edit(to, func() { to.Immutable = new(true) })
		return s, claim, item, to
	}
	t.Run("R284 it follows", func(t *testing.T) {
		s, claim, item, frozen := freeze(t)
		s.pass()
		if to := (&corev1.Secret{}); !s.get("orders-connection", to) || to.UID != frozen.UID {
			t.Fatal("one that is in step was made anew")
		}
		source := &corev1.Secret{}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		s.edit(source, func() { source.Data["password"] = []byte("hunter3") })
		s.pass()
		s.agreed("orders-connection", claim, item)
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("R271 R284 it follows a source that was published anew", func(t *testing.T) {
		s, claim, item, _ := freeze(t)
		s.publishAnew(item, map[string]string{"username": "root", "password": "hunter3"})
		s.pass()
		s.agreed("orders-connection", claim, item)
	})
	t.Run("R270 N22 it stays where it alone has a key", func(t *testing.T) {
		s, _, item, frozen := freeze(t)
		s.publishAnew(item, map[string]string{"username": "root"})
		s.pass()
		if to := (&corev1.Secret{}); !s.get("orders-connection", to) || to.UID != frozen.UID || string(to.Data["password"]) != "hunter2" {
			t.Errorf("it has keys %v", to.Data)
		}
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileError)
	})
}

// Secrets that are not the claim's, or not the managed resource's, are neither overwritten nor read.
func TestForeignSecrets(t *testing.T) {
	t.Parallel()
	foreign := map[string]func(*stage, *corev1.Secret){
		"R278 somebody's own":   func(_ *stage, secret *corev1.Secret) { secret.Type = corev1.SecretTypeOpaque },
		"R278 a connection's":   func(_ *stage, secret *corev1.Secret) { secret.Type = xpv1.SecretTypeConnection },
		"R278 made to look own": func(s *stage, secret *corev1.Secret) { s.forge(secret) },
	}
	for name, change := range foreign {
		t.Run(name+" stays as it is", func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			claim := s.newClaim("orders", nil)
			s.create(s.newClass(nil), claim)
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "orders-connection"}}
			secret.Data = map[string][]byte{"mine": []byte("precious")}
			change(s, secret)
			s.create(secret)
			s.pass()
			s.ready(s.item(), "hunter2")
			if rest := s.pass(); rest.RequeueAfter == 0 {
				t.Error("nobody comes back")
			}
			s.wantState("orders", "Bound", xpv1.ReasonBinding, xpv1.ReasonReconcileError, "orders-connection", "name another")
			if diff := cmp.Diff(map[string]string{"mine": "precious"}, s.secret("orders-connection")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			s.delete(secret)
			s.pass()
			s.agreed("orders-connection", claim, s.item())
		})
	}
	t.Run("R272 a source that is not the managed resource's own is not copied", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		item := s.newItem("legacy", s.toNamespace)
		stolen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "legacy-source"}}
		stolen.Type, stolen.Data = xpv1.SecretTypeConnection, map[string][]byte{"password": []byte("stolen")}
		s.create(item, stolen)
		s.status(item, func() { item.SetBindingPhase(xpv1.BindingPhaseUnbound) })
		s.create(s.newClaim("orders", s.static(item.Name)))
		s.pass()
		s.wantState("orders", "Bound", xpv1.ReasonBinding, xpv1.ReasonReconcileSuccess, "no connection details")
		if got := s.secret("orders-connection"); got != nil {
			t.Errorf("it was copied: %v", got)
		}
	})
}

// forge gives a Secret that is no connection Secret the claim as controller.
func (s *stage) forge(secret *corev1.Secret) {
	secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(s.claimOf("orders"), shop.ItemClaimGroupVersionKind)}
}

// Whoever took a copy from its claim, to keep it, learns nothing of what comes later.
func TestTakenCopies(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*stage, *shop.ItemClaim, *shop.Item){
		"R279 the claim is deleted": func(s *stage, claim *shop.ItemClaim, _ *shop.Item) {
			s.delete(claim)
			s.pass()
		},
		"R278 the claim names another Secret": func(s *stage, claim *shop.ItemClaim, _ *shop.Item) {
			s.edit(claim, func() { claim.Spec.WriteConnectionSecretToReference.Name = "other" })
			s.pass()
		},
		"R274 another claim gets it": func(s *stage, _ *shop.ItemClaim, item *shop.Item) {
			s.edit(item, func() { s.toClaim("again")(item) })
			s.create(s.newClaim("again", s.static(item.Name)))
			s.passOf("again")
		},
		"N27 an administrator takes it away": func(s *stage, _ *shop.ItemClaim, item *shop.Item) {
			s.edit(item, func() { item.Spec.ClaimReference = nil })
			s.pass()
		},
		"R271 it still has the name": func(s *stage, _ *shop.ItemClaim, _ *shop.Item) { s.pass() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			claim, item := s.bound(nil)
			s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
			taken := &corev1.Secret{}
			s.get("orders-connection", taken)
			s.edit(taken, func() { taken.OwnerReferences = nil })
			lose(s, claim, item)
			source := &corev1.Secret{}
			s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
			if meta.PropagationAllowed(source, taken) {
				t.Errorf("the source goes on to %v", meta.PropagatesTo(source))
			}
		})
	}
	t.Run("R270 N10 a namespace without room for the copy", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.create(s.newClass(nil), s.newClaim("orders", nil))
		s.pass()
		item := s.item()
		s.ready(item, "hunter2")
		full := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.env.Namespace, Name: "full"}}
		full.Spec.Hard = corev1.ResourceList{"count/secrets": quantity.MustParse("1")}
		s.create(full)
		s.env.Eventually(t, "the quota counts", func(ctx context.Context) error {
			if err := s.env.Client.Get(ctx, client.ObjectKeyFromObject(full), full); err != nil || full.Status.Used == nil {
				return fmt.Errorf("%v, %v", full.Status, err)
			}
			return nil
		})
		s.pass()
		s.wantState("orders", "Bound", xpv1.ReasonBinding, xpv1.ReasonReconcileError, "no room for Secret", "quota: full")
		s.delete(full)
		s.pass()
		s.wantState("orders", "Bound", xpv1.ReasonAvailable, xpv1.ReasonReconcileSuccess)
	})
	t.Run("R306 a target's copy stays as long as the claim", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim, item := s.bound(nil)
		s.edit(item, func() { item.Spec.ReclaimPolicy = xpv1.ReclaimRetain })
		source, to := &corev1.Secret{}, &corev1.Secret{Type: xpv1.SecretTypeConnection}
		s.get(item.Spec.WriteConnectionSecretToReference.Name, source)
		to.Namespace, to.Name = s.env.Namespace, "target"
		to.OwnerReferences = []metav1.OwnerReference{{ // in a version that the garbage collector does not know
			APIVersion: "workload.crossplane.io/v0", Kind: "KubernetesTarget", Name: "target", UID: "target", Controller: new(true)}}
		meta.AllowPropagationFrom(to, source)
		s.create(to)
		s.edit(source, func() { meta.AllowPropagationTo(source, to) })
		s.pass()
		if s.get(source.Name, source); !meta.PropagationAllowed(source, to) {
			t.Error("it was forgotten")
		}
		s.delete(claim)
		s.pass()
		if s.get(source.Name, source); meta.PropagationAllowed(source, to) {
			t.Error("it outlives the claim")
		}
	})
}
