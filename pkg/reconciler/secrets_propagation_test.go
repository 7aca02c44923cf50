// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// What happens to a Secret and its copy while the controller runs.
func TestPropagation(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	from, to := s.bound("db", map[string]string{"username": "app", "password": "first"}, s.claim("db", ""))
	s.edit(to, func() { to.Labels = map[string]string{"team": "orders"} })
	s.start(s.access())
	t.Run("the copy is filled (R284, R287)", func(t *testing.T) {
		s.holds(to, map[string]string{"username": "app", "password": "first"})
	})
	t.Run("a change arrives within a second (R284, R285)", func(t *testing.T) {
		testkit.Promptly(t, time.Second, func(n int) time.Duration {
			s.edit(from, func() { from.Data["password"] = fmt.Append(nil, n) })
			return s.holds(to, map[string]string{"username": "app", "password": fmt.Sprint(n)})
		})
	})
	t.Run("keys that the source lost vanish (R292)", func(t *testing.T) {
		s.edit(from, func() { from.Data = content(map[string]string{"password": "fourth"}) })
		s.holds(to, map[string]string{"password": "fourth"})
	})
	t.Run("edits of the copy are reverted (R285, R292)", func(t *testing.T) {
		s.edit(to, func() { to.Data = content(map[string]string{"password": "mine", "more": "x"}) })
		s.holds(to, map[string]string{"password": "fourth"})
		s.edit(to, func() { to.Data = nil })
		s.holds(to, map[string]string{"password": "fourth"})
	})
	t.Run("the rest of the copy stays (R295)", func(t *testing.T) {
		before := to.DeepCopy()
		s.edit(from, func() {
			from.Data["password"], from.Labels = []byte("fifth"), map[string]string{"theirs": "x"}
		})
		s.holds(to, map[string]string{"password": "fifth"})
		if to.Labels["team"] != "orders" || len(to.Labels) != 1 || len(to.OwnerReferences) != 1 {
			t.Errorf("labels %v, owners %v", to.Labels, to.OwnerReferences)
		}
		if diff := cmp.Diff(before.Annotations, to.Annotations); diff != "" {
			t.Errorf("annotations -want +got:\n%s", diff)
		}
	})
	t.Run("changes of metadata make no request (R294, R295, N13)", func(t *testing.T) {
		s.take(writes)
		s.edit(to, func() { to.Labels["team"] = "billing" })
		s.edit(from, func() { from.Labels = nil })
		_, beside := s.bound("after", map[string]string{"password": "b"}, s.claim("after", "")) // others have had their turn then
		s.holds(beside, map[string]string{"password": "b"})
		for _, request := range s.take(all) {
			if request == "PATCH "+s.path(to) || request == "GET "+s.path(from) {
				t.Error(request)
			}
		}
	})
}

// path is that of a Secret in what take returns.
func (s *secretStage) path(of *corev1.Secret) string {
	return "/api/v1/namespaces/" + strings.ReplaceAll(of.Namespace, s.Namespace, "NS") + "/secrets/" + of.Name
}

// twoKinds makes sources of two managed kinds, and copies of two kinds of claims, of which the first has templates.
func (s *secretStage) twoKinds(templates, one, two string) (first, second, byClaim, byOther *corev1.Secret) {
	s.t.Helper()
	item, gadget := &shop.Item{}, &shop.Gadget{}
	item.Name, gadget.Name = s.Prefix+"item", s.Prefix+"gadget"
	claim, other := s.claim("claim", templates), &shop.OtherClaim{}
	other.Namespace, other.Name = s.Namespace, "other"
	s.create(item, gadget, claim, other)
	first = s.source("item", map[string]string{"password": one}, ownedBy(item, shop.ItemGroupVersionKind))
	second = s.source("gadget", map[string]string{"password": two}, ownedBy(gadget, shop.GadgetGroupVersionKind))
	byClaim = s.copy("by-claim", ownedBy(claim, shop.ItemClaimGroupVersionKind))
	byOther = s.copy("by-other", ownedBy(other, shop.OtherClaimGroupVersionKind))
	s.create(first, second, byClaim, byOther)
	return first, second, byClaim, byOther
}

// One controller serves all kinds, and all destinations of a source.
func TestAllKinds(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	first, second, byClaim, byOther := s.twoKinds("", "1", "2")
	byTarget := s.copy("by-target", s.otherOwner())
	s.create(byTarget)
	s.start(s.access())
	s.agree(first, byClaim)
	s.agree(first, byTarget)
	s.agree(second, byOther)
	t.Run("all kinds of managed resources and claims (R7)", func(t *testing.T) {
		s.holds(byClaim, map[string]string{"password": "1"})
		s.holds(byOther, map[string]string{"password": "2"})
	})
	t.Run("several destinations of one source (R291)", func(t *testing.T) {
		s.edit(first, func() { first.Data["password"] = []byte("3") })
		s.holds(byClaim, map[string]string{"password": "3"})
		s.holds(byTarget, map[string]string{"password": "3"})
		if err := holds(byOther, map[string]string{"password": "2"}); err != nil {
			t.Error(err)
		}
	})
	t.Run("edits of a copy that no claim controls (R306)", func(t *testing.T) {
		s.edit(byTarget, func() { byTarget.Data["password"] = []byte("mine") })
		s.holds(byTarget, map[string]string{"password": "3"})
	})
	t.Run("what is no claim is not listed (N30)", func(t *testing.T) {
		if lists := s.take(all); slices.Contains(lists, "GET /api/v1/namespaces/NS/configmaps") {
			t.Errorf("requests: %q", lists)
		}
	})
	t.Run("consent that is taken back (R289)", func(t *testing.T) {
		s.edit(first, func() { meta.ForbidPropagationTo(first, byTarget.UID) })
		s.edit(first, func() { first.Data["password"] = []byte("4") })
		s.holds(byClaim, map[string]string{"password": "4"})
		s.holds(byTarget, map[string]string{"password": "3"})
	})
}

// Many passwords change at once.
func TestMany(t *testing.T) {
	t.Parallel()
	const many = 100
	s := newSecretStage(t)
	claim := s.claim("claim", "")
	s.create(claim)
	sources, copies := make([]*corev1.Secret, many), make([]*corev1.Secret, many)
	for i := range many {
		name := "s" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		sources[i] = s.source(name, map[string]string{"password": "first"})
		copies[i] = s.copy(name, ownedBy(claim, shop.ItemClaimGroupVersionKind))
		s.create(sources[i], copies[i])
		s.agree(sources[i], copies[i])
	}
	s.start(s.access())
	for _, c := range copies {
		s.holds(c, map[string]string{"password": "first"})
	}
	s.take(writes)
	for _, source := range sources {
		s.edit(source, func() { source.Data["password"] = []byte("second") })
	}
	took := time.Duration(0)
	for _, c := range copies {
		took += s.holds(c, map[string]string{"password": "second"})
	}
	t.Run("one write for each change (R284)", func(t *testing.T) {
		if did := len(s.take(writes)); did < many || did > many+many/10 { // a cache that is behind costs a conflict
			t.Errorf("%d writes for %d changes", did, many)
		}
		if took > 30*time.Second { // far less than the poll, on a busy machine, too
			t.Errorf("the last copy came %v after the last change", took)
		}
	})
}

// A copy outlives its source, and is reconciled with backoff.
func TestMissingSource(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	from, to := s.bound("db", map[string]string{"password": "b"}, s.claim("db", ""))
	s.start(s.access())
	s.holds(to, map[string]string{"password": "b"})
	t.Run("a copy outlives its source in silence (R293)", func(t *testing.T) {
		s.idle()
		s.takeErrors(to)
		s.delete(from)
		_, other := s.bound("other", map[string]string{"c": "d"}, s.claim("other", ""))
		s.holds(other, map[string]string{"c": "d"})
		s.holds(to, map[string]string{"password": "b"})
		if logged := s.takeErrors(to); len(logged) > 0 {
			t.Errorf("errors: %q", logged)
		}
	})
	t.Run("another look at it is an error, and tried again more and more seldom (R293)", func(t *testing.T) {
		begun, count := time.Now(), 0
		s.edit(to, func() { to.Labels = map[string]string{"password": "b"} })
		s.Eventually(t, "five errors", func(context.Context) error {
			if count += len(s.takeErrors(to)); count < 5 {
				return fmt.Errorf("%d errors", count)
			}
			return nil
		})
		if took := time.Since(begun); took < time.Second {
			t.Errorf("five errors in %v", took)
		}
	})
	t.Run("a new source that both agree to is taken (R293)", func(t *testing.T) {
		from := s.source("db", map[string]string{"password": "new"})
		s.create(from)
		s.agree(from, to)
		s.holds(to, map[string]string{"password": "new"})
	})
}

// ItemSecretController is as the guides have it.
type ItemSecretController struct{}

func (c *ItemSecretController) SetupWithManager(mgr ctrl.Manager) error {
	p := resource.NewPredicates(resource.AnyOf(
		resource.AllOf(resource.IsControlledByKind(shop.ItemClaimGroupVersionKind), resource.IsPropagated()),
		resource.AllOf(resource.IsControlledByKind(shop.ItemGroupVersionKind), resource.IsPropagator()),
	))

	return ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(fmt.Sprintf("connectionsecret.%s.%s", shop.ItemKind, shop.GroupVersion.Group))).
		Watches(&corev1.Secret{}, &resource.EnqueueRequestForPropagated{}).
		For(&corev1.Secret{}).
		WithEventFilter(p).
		Complete(secret.NewReconciler(mgr))
}

// The long form of the guides serves the Secrets of one claim kind and one managed kind.
func TestGuide(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	from, foreign, to, beside := s.twoKinds(url, "1", "1")
	controlplanetest.RunManager(t, s.access(), s.options(), func(mgr manager.Manager) error {
		return (&ItemSecretController{}).SetupWithManager(mgr)
	})
	s.agree(foreign, beside)
	s.agree(from, to)
	t.Run("secrets of other kinds are not its own (R286)", func(t *testing.T) {
		s.edit(foreign, func() { foreign.Data["password"] = []byte("2") })
		s.edit(beside, func() { beside.Labels = map[string]string{"a": "b"} })
		s.edit(from, func() { from.Data["password"] = []byte("3") }) // had those come through, they would have come first
		s.holds(to, map[string]string{"password": "3", "URL": "redis://:3@h"})
		s.holds(beside, nothing)
		for _, request := range s.take(writes) {
			if request == "PATCH "+s.path(beside) {
				t.Error(request)
			}
		}
	})
}
