// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
)

// publishAnew replaces the source.
func (s *stage) publishAnew(data map[string]string) {
	s.t.Helper()
	source := s.secret("hidden-source")
	s.delete(source)
	source.ObjectMeta = metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name, OwnerReferences: source.OwnerReferences}
	source.Data, source.StringData = nil, data
	s.create(source)
}

// holds checks what a copy has.
func (s *stage) holds(name string, want map[string]string) {
	s.t.Helper()
	to := s.secret(name)
	if to == nil {
		s.t.Fatalf("there is no Secret %s", name)
	}
	got := map[string]string{}
	for key, value := range to.Data {
		got[key] = string(value)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("the copy, -want +got:\n%s", diff)
	}
}

// hasLost checks that the target can be used and says that something is lost, or that nothing is.
func (s *stage) hasLost(parts ...string) {
	s.t.Helper()
	ready, synced := s.target().GetCondition(xpv1.TypeReady), s.target().GetCondition(xpv1.TypeSynced)
	if ready.Reason != xpv1.ReasonAvailable || (synced.Reason == xpv1.ReasonReconcileError) != (len(parts) > 0) {
		s.t.Errorf("Ready is %s, Synced %s (%s)", ready.Reason, synced.Reason, synced.Message)
	}
	for _, part := range parts {
		if !strings.Contains(synced.Message, part) {
			s.t.Errorf("condition Synced should say %q, it says %q", part, synced.Message)
		}
	}
	if strings.Contains(synced.Message, "hidden-source") || strings.Contains(synced.Message, "hunter") {
		s.t.Errorf("the team is told what is not for it: %s", synced.Message)
	}
}

// token adds to the source what only the creation told, and has the target follow.
func (s *stage) token(item *shop.Item) {
	s.t.Helper()
	s.edit(item, func() { item.Annotations[managed.AnnotationKeyCreatedKeys] = "token" })
	s.publishAnew(map[string]string{"kubeconfig": "hunter2", "token": "once"})
	s.pass()
	s.holds("kube", map[string]string{"kubeconfig": "hunter2", "token": "once"})
	s.hasLost()
	s.events.Take()
}

// A source that was published anew without all that it had takes nothing from the copy.
func TestLostKeys(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) (*stage, *shop.Item) {
		t.Parallel()
		s := newStage(t)
		_, item := s.connected(nil)
		s.token(item)
		s.publishAnew(map[string]string{"kubeconfig": "hunter3"})
		s.pass()
		return s, item
	}
	t.Run("the copy stays as it is, and the target reports it once (R297, N22, N42)", func(t *testing.T) {
		s, _ := begin(t)
		for range 2 {
			s.holds("kube", map[string]string{"kubeconfig": "hunter2", "token": "once"})
			s.hasLost("lost token", `"kube" stays`, "your platform team")
			s.pass()
		}
		if diff := cmp.Diff([]event.Reason{target.ReasonDetailsLost}, s.events.Take()); diff != "" {
			t.Errorf("events, -want +got:\n%s", diff)
		}
		source := s.secret("hidden-source")
		s.edit(source, func() { source.Data = map[string][]byte{"kubeconfig": []byte("hunter4"), "token": []byte("reset")} })
		s.pass()
		s.holds("kube", map[string]string{"kubeconfig": "hunter4", "token": "reset"})
		s.hasLost()
		if from, to := s.secret("hidden-source"), s.secret("kube"); !meta.PropagationAllowed(from, to) {
			t.Errorf("they do not agree: %v, %v", from.Annotations, to.Annotations)
		}
	})
	t.Run("another name removes nothing either (K73, N22, N42)", func(t *testing.T) {
		s, _ := begin(t)
		have := s.target()
		s.edit(have, func() { have.Spec.WriteConnectionSecretToReference.Name = "renamed" })
		s.pass()
		s.holds("kube", map[string]string{"kubeconfig": "hunter2", "token": "once"})
		s.hasLost("lost token: ask your platform team")
		source := s.secret("hidden-source")
		s.edit(source, func() { source.Data["token"] = []byte("reset") })
		s.pass()
		if s.hasLost(); s.secret("kube") != nil || !meta.PropagationAllowed(s.secret("hidden-source"), s.secret("renamed")) {
			t.Error("it is still there, or the other one does not follow")
		}
	})
	t.Run("who can do without deletes the copy (R297)", func(t *testing.T) {
		s, _ := begin(t)
		s.delete(s.secret("kube"))
		s.pass()
		s.holds("kube", map[string]string{"kubeconfig": "hunter3"})
		s.hasLost("lost token: ask your platform team")
	})
	t.Run("who loses consent keeps nothing (N27, N22)", func(t *testing.T) {
		s, item := begin(t)
		s.edit(item, func() { delete(item.Annotations, meta.AnnotationKeyAllowedNamespaces) })
		s.pass()
		if s.secret("kube") != nil {
			t.Error("it is there")
		}
	})
	t.Run("nothing stays of another managed resource (R297, N22)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		_, item := s.connected(nil)
		s.token(item)
		s.edit(item, func() { delete(item.Annotations, managed.AnnotationKeyCreatedKeys) })
		s.publishAnew(map[string]string{"kubeconfig": "another"})
		s.pass()
		s.holds("kube", map[string]string{"kubeconfig": "another"})
		s.hasLost()
	})
}

// A copy that its holder made immutable is made anew when it is out of step.
func TestImmutableCopy(t *testing.T) {
	t.Parallel()
	freeze := func(t *testing.T) (*stage, *corev1.Secret) {
		t.Parallel()
		s := newStage(t)
		_, item := s.connected(nil)
		s.token(item)
		to := s.secret("kube")
		s.edit(to, func() { to.Immutable = new(true) })
		s.pass()
		if got := s.secret("kube"); got == nil || got.UID != to.UID {
			t.Fatal("one that is in step was made anew")
		}
		return s, to
	}
	t.Run("it follows (R306)", func(t *testing.T) {
		s, _ := freeze(t)
		source := s.secret("hidden-source")
		s.edit(source, func() { source.Data["kubeconfig"] = []byte("hunter3") })
		s.pass()
		s.holds("kube", map[string]string{"kubeconfig": "hunter3", "token": "once"})
		from, to := s.secret("hidden-source"), s.secret("kube")
		if !meta.PropagationAllowed(from, to) || len(meta.PropagatesTo(from)) != 1 {
			t.Errorf("the source goes on to %v", meta.PropagatesTo(from))
		}
		s.hasLost()
	})
	t.Run("it follows a source that was published anew (R297, R306)", func(t *testing.T) {
		s, _ := freeze(t)
		s.publishAnew(map[string]string{"kubeconfig": "hunter3", "token": "again"})
		s.pass()
		s.holds("kube", map[string]string{"kubeconfig": "hunter3", "token": "again"})
	})
	t.Run("it stays where it alone has a key (R297, N22)", func(t *testing.T) {
		s, frozen := freeze(t)
		s.publishAnew(map[string]string{"kubeconfig": "hunter3"})
		s.pass()
		if to := s.secret("kube"); to == nil || to.UID != frozen.UID {
			t.Fatal("it was made anew")
		}
		s.holds("kube", map[string]string{"kubeconfig": "hunter2", "token": "once"})
		s.hasLost("lost token")
	})
}

// The quota of the team's own namespace.
func TestQuota(t *testing.T) {
	t.Parallel()
	t.Run("a namespace without room for the copy (R297, N10)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		item := s.newItem(nil)
		s.create(item, s.newTarget(nil))
		s.publish(item)
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
		s.wantState(xpv1.ReasonConnecting, `secret "kube" cannot be created`, "resource quota")
		if said := s.target().GetCondition(xpv1.TypeReady).Message; strings.Contains(said, "used: ") {
			t.Errorf("what changes all the time is told: %s", said)
		}
		s.delete(full)
		s.env.Eventually(t, "the target is connected", func(context.Context) error {
			s.pass() // the API server's own cache of quotas may be behind
			return s.checkAgreed("kube")
		})
		s.wantState(xpv1.ReasonAvailable)
	})
}
