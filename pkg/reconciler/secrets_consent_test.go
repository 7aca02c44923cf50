// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
)

var nothing map[string]string

// An attempt to have a Secret copied.
type attempt struct {
	before func(s *secretStage, from, to *corev1.Secret) // they are created
	alone  bool                                          // they do not agree
	after  func(s *secretStage, from, to *corev1.Secret)
	want   map[string]string // what the copy holds after a pass
	err    bool
}

// Writing one side alone, or taking the name of another, gets nothing; nor does a Secret that is no copy, despite any consent.
func TestConsent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]attempt{
		"both agree (R287, R289)":      {want: map[string]string{"password": "s3cret"}},
		"neither side consents (R288)": {alone: true},
		"a forged destination (R289)": {alone: true, after: func(s *secretStage, from, to *corev1.Secret) {
			s.edit(to, func() { meta.AllowPropagationFrom(to, from) })
		}},
		"a forged destination that names itself on its own (R289)": {alone: true, after: func(s *secretStage, from, to *corev1.Secret) {
			s.edit(to, func() { meta.AllowPropagation(from.DeepCopy(), to); meta.AllowPropagationTo(to, to) })
		}},
		"the source alone agrees (R288, R289)": {alone: true, after: func(s *secretStage, from, to *corev1.Secret) {
			s.edit(from, func() { meta.AllowPropagationTo(from, to) })
		}},
		"the source was created again (R289)":      {after: func(s *secretStage, from, _ *corev1.Secret) { s.remake(from) }},
		"the destination was created again (R289)": {after: func(s *secretStage, _, to *corev1.Secret) { s.remake(to) }},
		"another destination claims to be the one (R289)": {alone: true, after: func(s *secretStage, from, to *corev1.Secret) {
			ours := s.copy("ours", s.otherOwner())
			s.create(ours)
			s.agree(from, ours)
			s.edit(to, func() { to.Annotations = ours.Annotations })
		}},
		"the source is no connection secret (N30)":      {before: func(_ *secretStage, from, _ *corev1.Secret) { from.Type = corev1.SecretTypeOpaque }},
		"the destination is no connection secret (N30)": {before: func(_ *secretStage, _, to *corev1.Secret) { to.Type = corev1.SecretTypeOpaque }},
		"the source is a copy itself (R289)": {after: func(s *secretStage, from, to *corev1.Secret) {
			s.edit(from, func() { meta.AllowPropagationFrom(from, to) })
		}},
		"the destination is being deleted (R295)": {
			before: func(_ *secretStage, _, to *corev1.Secret) { to.Finalizers = []string{"example.org/hold"} },
			after:  func(s *secretStage, _, to *corev1.Secret) { s.delete(to) }},
		"its holder took it from the claim (R289)": {after: func(s *secretStage, _, to *corev1.Secret) { s.edit(to, func() { disown(to) }) }},
		"the source is missing (R293)": {
			before: func(_ *secretStage, _, to *corev1.Secret) {
				to.Data = content(map[string]string{"password": "earlier"})
			},
			after: func(s *secretStage, from, _ *corev1.Secret) { s.delete(from) },
			want:  map[string]string{"password": "earlier"}, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecretStage(t)
			from, to := s.source("db", map[string]string{"password": "s3cret"}), s.copy("db", s.otherOwner())
			if tc.before != nil {
				tc.before(s, from, to)
			}
			s.create(from, to)
			if !tc.alone {
				s.agree(from, to)
			}
			if tc.after != nil {
				tc.after(s, from, to)
			}
			data, _, err := s.reconciled(to)
			if (err != nil) != tc.err {
				t.Errorf("error %v", err)
			}
			if err := holds(&corev1.Secret{Data: data}, tc.want); err != nil {
				t.Error(err)
			}
			if did := s.take(writes); tc.want["password"] != "s3cret" && len(did) > 0 {
				t.Errorf("writes: %q", did)
			}
		})
	}
}

// remake deletes a Secret and creates one of the same name and content.
func (s *secretStage) remake(secret *corev1.Secret) {
	s.t.Helper()
	s.delete(secret)
	secret.ResourceVersion, secret.UID = "", ""
	s.create(secret)
}

func TestPass(t *testing.T) {
	t.Parallel()
	runOn(t, newSecretStage, map[string]func(*secretStage){
		"a secret that does not exist (R16, R293)": func(s *secretStage) {
			s.vanishes(s.copy("none"))
		},
		"the source itself (R288)": func(s *secretStage) {
			from, _ := s.bound("db", map[string]string{"a": "b"}, s.claim("db", ""))
			s.ends(from, map[string]string{"a": "b"}, false)
		},
		"a second pass writes nothing (R294, N13)": func(s *secretStage) {
			_, to := s.bound("db", map[string]string{"a": "b"}, s.claim("db", ""))
			for _, want := range []int{1, 0, 0} {
				_, _, err := s.reconciled(to)
				if did := s.take(writes); err != nil || len(did) != want {
					s.t.Errorf("error %v, writes %q instead of %d", err, did, want)
				}
			}
		},
		"another client writes meanwhile (R17)": func(s *secretStage) {
			_, to := s.bound("db", map[string]string{"a": "b"}, s.claim("db", ""))
			var once sync.Once
			s.beforeWrite(func() {
				once.Do(func() { s.edit(to, func() { to.Data = content(map[string]string{"c": "theirs"}) }) })
			})
			s.ends(to, map[string]string{"c": "theirs"}, true)
			s.ends(to, map[string]string{"a": "b"}, false)
		},
		"it goes away meanwhile (R16)": func(s *secretStage) {
			_, to := s.bound("db", map[string]string{"a": "b"}, s.claim("db", ""))
			s.beforeWrite(func() { _ = s.Client.Delete(s.t.Context(), to) })
			s.vanishes(to)
		},
		"a copy that cannot be changed (R234)": func(s *secretStage) {
			_, to := s.bound("db", map[string]string{"password": "hushhush"}, s.claim("db", ""))
			s.edit(to, func() { to.Immutable = new(true) })
			_, _, err := s.reconciled(to)
			if !apierrors.IsInvalid(err) || strings.Contains(err.Error(), "hushhush") || !strings.Contains(err.Error(), s.Namespace+"/db") {
				s.t.Errorf("error %v", err)
			}
		},
		"consent is revoked between the pass over the cache and the write (R289)": func(s *secretStage) {
			from, to := s.bound("db", map[string]string{"a": "b"}, s.claim("db", ""))
			var first sync.Once
			s.onRequest(func(r *http.Request) error {
				if r.URL.Path == "/apis/"+shop.GroupVersion.String() { // after the first look
					first.Do(func() { s.edit(from, func() { meta.ForbidPropagationTo(from, to.UID) }) })
				}
				return nil
			})
			s.ends(to, nothing, false)
		},
	})
}

// created makes a source whose managed resource returned the password only when it was created, and a copy of it for an owner.
func (s *secretStage) created(owner metav1.OwnerReference) (item *shop.Item, from, to *corev1.Secret) {
	s.t.Helper()
	item = &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: s.Prefix + "item",
		Annotations: map[string]string{connection.AnnotationKeyCreatedKeys: "password"}}}
	s.create(item)
	from = s.source("db", map[string]string{"username": "app", "port": "1", "password": "once"}, ownedBy(item, shop.ItemGroupVersionKind))
	to = s.copy("db", owner)
	to.Data = from.Data
	s.create(from, to)
	s.agree(from, to)
	return item, from, to
}

// becomes replaces the data of a Secret, as a person does.
func (s *secretStage) becomes(secret *corev1.Secret, data map[string]string) {
	s.t.Helper()
	s.edit(secret, func() { secret.Data = content(data) })
}

// A person removes a key from the source while the controller runs.
func TestLostKey(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	claim := s.claim("db", url)
	s.create(claim)
	_, from, to := s.created(ownedBy(claim, shop.ItemClaimGroupVersionKind))
	other, beside := s.bound("beside", map[string]string{"a": "1"}, s.claim("beside", ""))
	target := s.copy("target", s.otherOwner())
	s.create(target)
	s.agree(from, target)
	s.start(s.access())
	all := map[string]string{"username": "app", "port": "1", "password": "once"}
	s.holds(target, all)
	all["URL"] = "redis://:once@h"
	s.holds(to, all)
	t.Run("the copies of claims and targets stay as they are (N42)", func(t *testing.T) {
		s.becomes(from, map[string]string{"username": "root"})
		s.edit(other, func() { other.Data["a"] = []byte("2") }) // others have had their turn then
		s.holds(beside, map[string]string{"a": "2"})
		s.holds(to, all)
		delete(all, "URL")
		s.holds(target, all)
	})
	t.Run("they follow when it is back (N42, R284)", func(t *testing.T) {
		s.becomes(from, map[string]string{"username": "root", "password": "reset"})
		s.holds(to, map[string]string{"username": "root", "password": "reset", "URL": "redis://:reset@h"})
		s.holds(target, map[string]string{"username": "root", "password": "reset"})
	})
}

// What a copy loses, and what it keeps, by what is known of the managed resource.
func TestKeptKeys(t *testing.T) {
	t.Parallel()
	whole, less := map[string]string{"username": "app", "port": "1", "password": "once"}, map[string]string{"username": "root", "port": "1"}
	for name, tc := range map[string]struct {
		given func(s *secretStage, item *shop.Item, from, to *corev1.Secret)
		now   map[string]string // in the source
		want  map[string]string // in the copy
		again bool              // it is looked at again
		err   bool
	}{
		"it stays as it is while the source lacks a created key (N42)": {now: less, want: whole, again: true},
		"it loses another key (R292)": {now: map[string]string{"username": "root", "password": "once"},
			want: map[string]string{"username": "root", "password": "once"}},
		"it loses a created key that people do without (N42)": {given: func(s *secretStage, item *shop.Item, _, _ *corev1.Secret) {
			s.edit(item, func() { item.Annotations = nil })
		}, now: less, want: less},
		"it follows where it has not got the key itself (N42, R284)": {given: func(s *secretStage, _ *shop.Item, _, to *corev1.Secret) {
			s.becomes(to, map[string]string{"username": "app", "port": "1"})
		}, now: less, want: less},
		"it stays where the managed resource cannot be read (N42)": {given: func(s *secretStage, item *shop.Item, _, _ *corev1.Secret) {
			s.refuse(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/items/"+item.Name) })
		}, now: less, want: whole, err: true},
		"it stays where the kind of the managed resource is unknown (N42)": {given: func(s *secretStage, _ *shop.Item, from, _ *corev1.Secret) {
			s.edit(from, func() { from.OwnerReferences[0].APIVersion = shop.GroupVersion.Group + "/v0" })
		}, now: less, want: whole, again: true},
		"a source that nothing controls has no created keys (R292)": {given: func(s *secretStage, _ *shop.Item, from, _ *corev1.Secret) {
			s.edit(from, func() { from.OwnerReferences = nil })
		}, now: less, want: less},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecretStage(t)
			item, from, to := s.created(s.otherOwner())
			if tc.given != nil {
				tc.given(s, item, from, to)
			}
			s.becomes(from, tc.now)
			data, requeue, err := s.reconciled(to)
			if (err != nil) != tc.err || (requeue > 0) != tc.again && !tc.err {
				t.Errorf("requeue after %v, error %v", requeue, err)
			}
			if err := holds(&corev1.Secret{Data: data}, tc.want); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("the managed resource is not read where nothing is lost (N13, N42)", func(t *testing.T) {
		t.Parallel()
		s := newSecretStage(t)
		item, from, to := s.created(s.otherOwner())
		s.becomes(from, map[string]string{"username": "root", "port": "1", "password": "reset", "more": "2"})
		s.take(writes)
		if _, _, err := s.reconciled(to); err != nil {
			t.Error(err)
		}
		requests := s.take(all)
		if slices.ContainsFunc(requests, func(r string) bool { return strings.HasSuffix(r, "/items/"+item.Name) }) {
			t.Errorf("requests: %q", requests)
		}
	})
}
