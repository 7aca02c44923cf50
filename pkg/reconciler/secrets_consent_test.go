// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
)

var nothing map[string]string

// Whoever writes one side alone, or takes the name of another, gets nothing.
func TestConsent(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]attempt{
		"both agree (R287, R289)": {given: func(s *secretStage, from, to *corev1.Secret) {
			s.create(from, to)
			s.agree(from, to)
		}, want: map[string]string{"password": "s3cret"}},
		"nobody says anything (R288)": {given: func(s *secretStage, from, to *corev1.Secret) { s.create(from, to) }},
		"a forged destination (R289)": {given: func(s *secretStage, from, to *corev1.Secret) {
			s.create(from)
			meta.AllowPropagationFrom(to, from)
			s.create(to)
		}},
		"a forged destination that names itself on its own (R289)": {given: func(s *secretStage, from, to *corev1.Secret) {
			s.create(from, to)
			s.edit(to, func() { meta.AllowPropagation(from.DeepCopy(), to); meta.AllowPropagationTo(to, to) })
		}},
		"the source alone agrees (R288, R289)": {given: func(s *secretStage, from, to *corev1.Secret) {
			s.create(from, to)
			s.edit(from, func() { meta.AllowPropagationTo(from, to) })
		}},
		"the source was made anew (R289)": {given: func(s *secretStage, from, to *corev1.Secret) {
			s.create(from, to)
			s.agree(from, to)
			s.remake(from)
		}},
		"the destination was made anew (R289)": {given: func(s *secretStage, from, to *corev1.Secret) {
			s.create(from, to)
			s.agree(from, to)
			s.remake(to)
		}},
		"another destination says that it is the one (R289)": {given: func(s *secretStage, from, to *corev1.Secret) {
			ours := s.copy("ours", s.somebody())
			s.create(from, to, ours)
			s.agree(from, ours)
			s.edit(to, func() { to.Annotations = ours.Annotations })
		}},
	} {
		t.Run(name, tc.run)
	}
}

// Some Secrets are not written, whatever anybody agrees to.
func TestNotCopied(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]attempt{
		"the source is no connection secret (N30)": {given: func(s *secretStage, from, to *corev1.Secret) {
			from.Type = corev1.SecretTypeOpaque
			s.create(from, to)
			s.agree(from, to)
		}},
		"the destination is no connection secret (N30)": {given: func(s *secretStage, from, to *corev1.Secret) {
			to.Type = corev1.SecretTypeOpaque
			s.create(from, to)
			s.agree(from, to)
		}},
		"the source is a copy itself (R289)": {given: func(s *secretStage, from, to *corev1.Secret) {
			s.create(from, to)
			s.agree(from, to)
			s.edit(from, func() { meta.AllowPropagationFrom(from, to) })
		}},
		"the destination is going away (R295)": {given: func(s *secretStage, from, to *corev1.Secret) {
			to.Finalizers = []string{"example.org/hold"}
			s.create(from, to)
			s.agree(from, to)
			s.delete(to)
		}},
		"its holder took it from the claim (R289)": {given: func(s *secretStage, from, to *corev1.Secret) {
			s.create(from, to)
			s.agree(from, to)
			s.edit(to, func() { to.OwnerReferences = nil })
		}},
		"the source is missing (R293)": {given: func(s *secretStage, from, to *corev1.Secret) {
			to.Data = content(map[string]string{"password": "earlier"})
			s.create(from, to)
			s.agree(from, to)
			s.delete(from)
		}, want: map[string]string{"password": "earlier"}, err: true},
	} {
		t.Run(name, tc.run)
	}
}

// An attempt to have a Secret copied.
type attempt struct {
	given func(s *secretStage, from, to *corev1.Secret) // how they come to be
	want  map[string]string                             // what the copy holds after a pass
	err   bool
}

func (a attempt) run(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	from, to := s.source("db", map[string]string{"password": "s3cret"}), s.copy("db", s.somebody())
	a.given(s, from, to)
	data, _, err := s.reconciled(to)
	if (err != nil) != a.err {
		t.Errorf("error %v", err)
	}
	if err := holds(&corev1.Secret{Data: data}, a.want); err != nil {
		t.Error(err)
	}
	if did := s.take(writes); a.want["password"] != "s3cret" && len(did) > 0 {
		t.Errorf("writes: %q", did)
	}
}

// remake deletes a Secret and makes one of the same name, which says the same.
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
			if _, requeue, err := s.reconciled(s.copy("nobody")); !errors.Is(err, errMissing) || err.Error() != "missing" || requeue != 0 {
				s.t.Errorf("requeue after %v, error %v", requeue, err)
			}
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
		"somebody writes meanwhile (R17)": func(s *secretStage) {
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
			if _, requeue, err := s.reconciled(to); !errors.Is(err, errMissing) || err.Error() != "missing" || requeue != 0 {
				s.t.Errorf("requeue after %v, error %v", requeue, err)
			}
		},
		"a copy that cannot be changed (R234)": func(s *secretStage) {
			_, to := s.bound("db", map[string]string{"password": "hushhush"}, s.claim("db", ""))
			s.edit(to, func() { to.Immutable = new(true) })
			_, _, err := s.reconciled(to)
			if !apierrors.IsInvalid(err) || strings.Contains(err.Error(), "hushhush") || !strings.Contains(err.Error(), s.Namespace+"/db") {
				s.t.Errorf("error %v", err)
			}
		},
	})
}

// What is cached is not enough to write by: it says what was so.
func TestLiveConsent(t *testing.T) {
	t.Parallel()
	t.Run("consent is taken back between the look and the write (R289)", func(t *testing.T) {
		s := newSecretStage(t)
		from, to := s.bound("db", map[string]string{"a": "b"}, s.claim("db", ""))
		var first sync.Once
		s.onRequest(func(r *http.Request) error {
			if r.URL.Path == "/apis/"+shop.GroupVersion.String() { // after the first look
				first.Do(func() { s.edit(from, func() { meta.ForbidPropagationTo(from, to.UID) }) })
			}
			return nil
		})
		s.ends(to, nothing, false)
	})
}
