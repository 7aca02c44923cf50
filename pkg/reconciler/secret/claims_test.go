// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
)

const url = `{"URL": "redis://:$(password)@h"}`

// Keys that a claim derives follow the claim as well as the source.
func TestDerivedKeys(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	claim := s.claim("db", url)
	from, to := s.bound("db", map[string]string{"password": "a/b"}, claim)
	s.start()
	t.Run("derived keys stand beside the others (R287)", func(t *testing.T) {
		s.holds(to, map[string]string{"password": "a/b", "URL": "redis://:a%2Fb@h"})
	})
	t.Run("they follow the source (R284)", func(t *testing.T) {
		s.change(from, func() { from.Data["password"] = []byte("c@d") })
		s.holds(to, map[string]string{"password": "c@d", "URL": "redis://:c%40d@h"})
	})
	t.Run("they follow the claim within a second (R284)", func(t *testing.T) {
		took := time.Hour
		for _, key := range []string{"A", "B", "C"} { // a busy machine may be late once
			s.change(claim, func() { setTemplates(claim, `{"`+key+`": "$(password)!"}`) })
			took = min(took, s.holds(to, map[string]string{"password": "c@d", key: "c@d!"}))
		}
		if took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
	t.Run("edits of them are reverted (R292)", func(t *testing.T) {
		s.change(to, func() { to.Data["C"] = []byte("mine") })
		s.holds(to, map[string]string{"password": "c@d", "C": "c@d!"})
	})
	t.Run("a bad template costs its own key only (R284)", func(t *testing.T) {
		s.change(claim, func() { setTemplates(claim, `{"A": "$(user)", "B": "$(password)"}`) })
		s.holds(to, map[string]string{"password": "c@d", "B": "c@d"})
		s.change(claim, func() { setTemplates(claim, "{") })
		s.holds(to, map[string]string{"password": "c@d"})
		s.change(from, func() { from.Data["password"] = []byte("e") })
		s.holds(to, map[string]string{"password": "e"})
	})
	t.Run("without templates they vanish (R292)", func(t *testing.T) {
		s.change(claim, func() { setTemplates(claim, url) })
		s.holds(to, map[string]string{"password": "e", "URL": "redis://:e@h"})
		s.change(claim, func() { setTemplates(claim, "") })
		s.holds(to, map[string]string{"password": "e"})
	})
	t.Run("other changes of the claim make no request (N13)", func(t *testing.T) {
		s.takeRequests()
		s.change(claim, func() { claim.Labels = map[string]string{"a": "b"} })
		s.change(claim, func() { setTemplates(claim, url) })
		s.holds(to, map[string]string{"password": "e", "URL": "redis://:e@h"})
		if writes := s.takeRequests(http.MethodPatch); len(writes) != 1 {
			t.Errorf("writes: %q", writes)
		}
	})
}

// Owner references are written by whoever may write the copy.
func TestForgedOwner(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		owner func(s *stage) metav1.OwnerReference
		want  map[string]string
	}{
		"no kind of claim (R289)": {owner: func(s *stage) metav1.OwnerReference {
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "o"}}
			setTemplates(o, url)
			s.create(o)
			return ownedBy(o, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		}, want: map[string]string{"password": "x"}},
		"no kind at all (R289)": {owner: func(*stage) metav1.OwnerReference {
			return metav1.OwnerReference{APIVersion: "nobody.example.org/v1", Kind: "Nothing", Name: "o", UID: "u", Controller: new(true)}
		}, want: map[string]string{"password": "x"}},
		"its claim (R287)": {owner: func(s *stage) metav1.OwnerReference {
			o := s.claim("o", url)
			s.create(o)
			return ownedBy(o, shop.ItemClaimGroupVersionKind)
		}, want: map[string]string{"password": "x", "URL": "redis://:x@h"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			from, to := s.source("db", map[string]string{"password": "x"}), s.copy("db", tc.owner(s))
			to.Data = content(map[string]string{"password": "old", "URL": "earlier"})
			s.create(from, to)
			s.agree(from, to)
			data, _, err := s.reconciled(to)
			if err := errors.Join(err, holds(&corev1.Secret{Data: data}, tc.want)); err != nil {
				t.Error(err)
			}
		})
	}
}

// What only the claim can tell stays as it is until it can be asked.
func TestUnreadClaim(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"the claim cannot be read (R284, R293)":         "/itemclaims/db",
		"nobody says what kinds there are (R284, R293)": "/apis/" + shop.GroupVersion.String(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			_, to := s.bound("db", map[string]string{"password": "x"}, s.claim("db", url))
			s.change(to, func() { to.Data = content(map[string]string{"password": "old", "URL": "earlier"}) })
			s.read = func(req *http.Request) error {
				if strings.HasSuffix(req.URL.Path, path) {
					return errors.New("the server is away")
				}
				return nil
			}
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
	t.Run("secrets and claims (N30)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		claim := s.claim("db", url)
		_, to := s.bound("db", map[string]string{"password": "x"}, claim)
		s.startAs(secrets, claims)
		s.holds(to, map[string]string{"password": "x", "URL": "redis://:x@h"})
		s.change(claim, func() { setTemplates(claim, "") })
		s.holds(to, map[string]string{"password": "x"})
	})
	t.Run("connection keys flow without the right to read claims (R284)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		from, to := s.bound("db", map[string]string{"password": "x"}, s.claim("db", url))
		s.startAs(secrets)
		s.holds(to, map[string]string{"password": "x"})
		s.change(from, func() { from.Data["password"] = []byte("y") })
		s.holds(to, map[string]string{"password": "y"})
	})
}

// startAs is start for somebody who may do no more than the rules say.
func (s *stage) startAs(rules ...rbacv1.PolicyRule) {
	s.t.Helper()
	user := s.Namespace
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
	s.create(role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
	s.InForce(s.t, user, "", rules[0])
	config := s.config()
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	controlplanetest.RunManager(s.t, config, s.options(), func(mgr manager.Manager) error {
		return secret.NewReconciler(mgr).SetupWithManager(mgr)
	})
}
