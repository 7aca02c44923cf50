// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
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
		took := time.Hour
		for _, password := range []string{"second", "third", "fourth"} { // a busy machine may be late once
			s.edit(from, func() { from.Data["password"] = []byte(password) })
			took = min(took, s.holds(to, map[string]string{"username": "app", "password": password}))
		}
		if took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
	t.Run("keys that the source lost vanish (R292)", func(t *testing.T) {
		s.edit(from, func() { delete(from.Data, "username") })
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
		after, beside := s.bound("after", map[string]string{"a": "b"}, s.claim("after", "")) // others have had their turn then
		s.holds(beside, map[string]string{"a": "b"})
		_ = after
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

// One controller serves all kinds, and all destinations of a source.
func TestAllKinds(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	item, gadget := &shop.Item{}, &shop.Gadget{}
	item.Name, gadget.Name = s.Prefix+"item", s.Prefix+"gadget"
	claim, other := s.claim("claim", ""), &shop.OtherClaim{}
	other.Namespace, other.Name = s.Namespace, "other"
	target := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "target"}}
	s.create(item, gadget, claim, other, target)
	first := s.source("item", map[string]string{"a": "1"}, ownedBy(item, shop.ItemGroupVersionKind))
	second := s.source("gadget", map[string]string{"a": "2"}, ownedBy(gadget, shop.GadgetGroupVersionKind))
	byClaim := s.copy("by-claim", ownedBy(claim, shop.ItemClaimGroupVersionKind))
	byOther := s.copy("by-other", ownedBy(other, shop.OtherClaimGroupVersionKind))
	byTarget := s.copy("by-target", ownedBy(target, corev1.SchemeGroupVersion.WithKind("ConfigMap")))
	s.create(first, second, byClaim, byOther, byTarget)
	s.start(s.access())
	s.agree(first, byClaim)
	s.agree(first, byTarget)
	s.agree(second, byOther)
	t.Run("all kinds of managed resources and claims (R7)", func(t *testing.T) {
		s.holds(byClaim, map[string]string{"a": "1"})
		s.holds(byOther, map[string]string{"a": "2"})
	})
	t.Run("several destinations of one source (R291)", func(t *testing.T) {
		s.edit(first, func() { first.Data["a"] = []byte("3") })
		s.holds(byClaim, map[string]string{"a": "3"})
		s.holds(byTarget, map[string]string{"a": "3"})
		if err := holds(byOther, map[string]string{"a": "2"}); err != nil {
			t.Error(err)
		}
	})
	t.Run("edits of a copy that no claim controls (R306)", func(t *testing.T) {
		s.edit(byTarget, func() { byTarget.Data["a"] = []byte("mine") })
		s.holds(byTarget, map[string]string{"a": "3"})
	})
	t.Run("nobody lists what is no claim (N30)", func(t *testing.T) {
		if lists := s.take(all); slices.Contains(lists, "GET /api/v1/namespaces/NS/configmaps") {
			t.Errorf("requests: %q", lists)
		}
	})
	t.Run("consent that is taken back (R289)", func(t *testing.T) {
		s.edit(first, func() { meta.ForbidPropagationTo(first, byTarget.UID) })
		s.edit(first, func() { first.Data["a"] = []byte("4") })
		s.holds(byClaim, map[string]string{"a": "4"})
		s.holds(byTarget, map[string]string{"a": "3"})
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
		if took > 5*time.Second {
			t.Errorf("the last copy came %v after the last change", took)
		}
	})
}

// What a source says no more is waited for with patience.
func TestMissingSource(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	from, to := s.bound("db", map[string]string{"a": "b"}, s.claim("db", ""))
	s.start(s.access())
	s.holds(to, map[string]string{"a": "b"})
	t.Run("a copy outlives its source in silence (R293)", func(t *testing.T) {
		s.Eventually(t, "nothing is left to do", func(context.Context) error {
			if time.Since(s.lastRequest()) < time.Second {
				return errors.New("the controller asked for something in the last second")
			}
			return nil
		})
		s.takeErrors(to)
		s.delete(from)
		_, other := s.bound("other", map[string]string{"c": "d"}, s.claim("other", ""))
		s.holds(other, map[string]string{"c": "d"})
		s.holds(to, map[string]string{"a": "b"})
		if logged := s.takeErrors(to); len(logged) > 0 {
			t.Errorf("errors: %q", logged)
		}
	})
	t.Run("another look at it is an error, and tried again more and more seldom (R293)", func(t *testing.T) {
		begun, count := time.Now(), 0
		s.edit(to, func() { to.Labels = map[string]string{"a": "b"} })
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
		from := s.source("db", map[string]string{"a": "new"})
		s.create(from)
		s.agree(from, to)
		s.holds(to, map[string]string{"a": "new"})
	})
}

func TestSetup(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	options := s.options()
	options.Metrics.BindAddress = "0"
	mgr, err := manager.New(s.Config, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("one controller of a name (R7, R13)", func(t *testing.T) {
		_ = secret.NewReconciler(mgr).SetupWithManager(mgr) // an earlier run of this test in the process may have taken the name
		if err := secret.NewReconciler(mgr).SetupWithManager(mgr); err == nil {
			t.Error("a second one is accepted")
		}
	})
}
