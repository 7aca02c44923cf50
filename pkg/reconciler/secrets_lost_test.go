// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/connection"
)

// created makes a source whose managed resource returned the password only when it was created, and a copy of it that somebody has.
func (s *secretStage) created(somebody metav1.OwnerReference) (item *shop.Item, from, to *corev1.Secret) {
	s.t.Helper()
	item = &shop.Item{ObjectMeta: metav1.ObjectMeta{Name: s.Prefix + "item",
		Annotations: map[string]string{connection.AnnotationKeyCreatedKeys: "password"}}}
	s.create(item)
	from = s.source("db", map[string]string{"username": "app", "port": "1", "password": "once"}, ownedBy(item, shop.ItemGroupVersionKind))
	to = s.copy("db", somebody)
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
	target := s.copy("target", s.somebody())
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
		"it stays where nobody knows the kind of the managed resource (N42)": {given: func(s *secretStage, _ *shop.Item, from, _ *corev1.Secret) {
			s.edit(from, func() { from.OwnerReferences[0].APIVersion = shop.GroupVersion.Group + "/v0" })
		}, now: less, want: whole, again: true},
		"a source that nothing controls has no created keys (R292)": {given: func(s *secretStage, _ *shop.Item, from, _ *corev1.Secret) {
			s.edit(from, func() { from.OwnerReferences = nil })
		}, now: less, want: less},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSecretStage(t)
			item, from, to := s.created(s.somebody())
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
		item, from, to := s.created(s.somebody())
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
