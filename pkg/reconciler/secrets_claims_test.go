// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
)

const url = `{"URL": "redis://:$(password)@h"}`

// Keys that a claim derives follow the claim as well as the source.
func TestDerivedKeys(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	claim := s.claim("db", url)
	from, to := s.bound("db", map[string]string{"password": "a/b"}, claim)
	s.start(s.access())
	t.Run("derived keys stand beside the others (R287)", func(t *testing.T) {
		s.holds(to, map[string]string{"password": "a/b", "URL": "redis://:a%2Fb@h"})
	})
	t.Run("they follow the source (R284)", func(t *testing.T) {
		s.edit(from, func() { from.Data["password"] = []byte("c@d") })
		s.holds(to, map[string]string{"password": "c@d", "URL": "redis://:c%40d@h"})
	})
	t.Run("they follow the claim within a second (R284)", func(t *testing.T) {
		testkit.Promptly(t, time.Second, func(n int) time.Duration {
			key := fmt.Sprint("K", n)
			s.edit(claim, func() { setTemplates(claim, `{"`+key+`": "$(password)!"}`) })
			return s.holds(to, map[string]string{"password": "c@d", key: "c@d!"})
		})
	})
	t.Run("edits of them are reverted (R292)", func(t *testing.T) {
		s.edit(claim, func() { setTemplates(claim, `{"C": "$(password)!"}`) })
		s.holds(to, map[string]string{"password": "c@d", "C": "c@d!"})
		s.edit(to, func() { to.Data["C"] = []byte("mine") })
		s.holds(to, map[string]string{"password": "c@d", "C": "c@d!"})
	})
	t.Run("a bad template costs its own key only (R284)", func(t *testing.T) {
		s.edit(claim, func() { setTemplates(claim, `{"A": "$(user)", "B": "$(password)"}`) })
		s.holds(to, map[string]string{"password": "c@d", "B": "c@d"})
		s.edit(claim, func() { setTemplates(claim, "{") })
		s.holds(to, map[string]string{"password": "c@d"})
		s.edit(from, func() { from.Data["password"] = []byte("e") })
		s.holds(to, map[string]string{"password": "e"})
	})
	t.Run("without templates they vanish (R292)", func(t *testing.T) {
		s.edit(claim, func() { setTemplates(claim, url) })
		s.holds(to, map[string]string{"password": "e", "URL": "redis://:e@h"})
		s.edit(claim, func() { setTemplates(claim, "") })
		s.holds(to, map[string]string{"password": "e"})
	})
	t.Run("other changes of the claim make no request (N13)", func(t *testing.T) {
		s.idle() // a cache that lacks the last write costs a conflict
		s.take(writes)
		s.edit(claim, func() { claim.Labels = map[string]string{"a": "b"} })
		s.edit(claim, func() { setTemplates(claim, url) })
		s.holds(to, map[string]string{"password": "e", "URL": "redis://:e@h"})
		if did := s.take(writes); len(did) != 1 {
			t.Errorf("writes: %q", did)
		}
	})
}

// Everyone with write access to the copy can write owner references.
func TestForgedOwner(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		owner func(s *secretStage) metav1.OwnerReference
		want  map[string]string
	}{
		"no kind of claim (R289)": {owner: func(s *secretStage) metav1.OwnerReference {
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "o"}}
			setTemplates(o, url)
			s.create(o)
			return ownedBy(o, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		}, want: map[string]string{"password": "x"}},
		"no kind at all (R289)": {owner: func(*secretStage) metav1.OwnerReference {
			return metav1.OwnerReference{APIVersion: "unknown.example.org/v1", Kind: "Nothing", Name: "o", UID: "u", Controller: new(true)}
		}, want: map[string]string{"password": "x"}},
		"its claim (R287)": {owner: func(s *secretStage) metav1.OwnerReference {
			o := s.claim("o", url)
			s.create(o)
			return ownedBy(o, shop.ItemClaimGroupVersionKind)
		}, want: map[string]string{"password": "x", "URL": "redis://:x@h"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecretStage(t)
			from, to := s.source("db", map[string]string{"password": "x"}), s.copy("db", tc.owner(s))
			to.Data = content(map[string]string{"password": "old", "URL": "earlier"})
			s.create(from, to)
			s.agree(from, to)
			s.ends(to, tc.want, false)
		})
	}
}

// What depends on the claim stays as it is until the claim can be read.
func TestUnreadClaim(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"the claim cannot be read (R284, R293)":   "/itemclaims/db",
		"kinds cannot be discovered (R284, R293)": "/apis/" + shop.GroupVersion.String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecretStage(t)
			_, to := s.bound("db", map[string]string{"password": "x"}, s.claim("db", url))
			s.edit(to, func() { to.Data = content(map[string]string{"password": "old", "URL": "earlier"}) })
			s.refuse(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, path) })
			for range 2 {
				data, _, err := s.reconciled(to)
				if err == nil || !strings.Contains(err.Error(), "reading the claim of secret "+s.Namespace+"/db") {
					t.Errorf("error %v", err)
				}
				if err := holds(&corev1.Secret{Data: data}, map[string]string{"password": "x", "URL": "earlier"}); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// The controller is content with the rights that its documentation names.
func TestAccess(t *testing.T) {
	t.Parallel()
	secrets := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "patch"}}
	claims := rbacv1.PolicyRule{
		APIGroups: []string{shop.GroupVersion.Group}, Resources: []string{"itemclaims"}, Verbs: []string{"get", "list", "watch"},
	}
	runOn(t, newSecretStage, map[string]func(*secretStage){
		"secrets and claims (N30)": func(s *secretStage) {
			claim := s.claim("db", url)
			_, to := s.bound("db", map[string]string{"password": "x"}, claim)
			s.start(s.as(secrets, claims))
			s.holds(to, map[string]string{"password": "x", "URL": "redis://:x@h"})
			s.edit(claim, func() { setTemplates(claim, "") })
			s.holds(to, map[string]string{"password": "x"})
		},
		"connection keys flow without the right to read claims (R284)": func(s *secretStage) {
			from, to := s.bound("db", map[string]string{"password": "x"}, s.claim("db", url))
			s.start(s.as(secrets))
			s.holds(to, map[string]string{"password": "x"})
			s.edit(from, func() { from.Data["password"] = []byte("y") })
			s.holds(to, map[string]string{"password": "y"})
		},
	})
}
