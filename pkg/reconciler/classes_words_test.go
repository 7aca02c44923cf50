// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
)

// Whatever the API server refuses to the controllers, the claim says in words for the team what to do, and neither it nor an
// event repeats what the server said: that names accounts, and objects that the team may not see.
func TestWordsForTeams(t *testing.T) {
	t.Parallel()
	const secret = "of-the-platform"
	raw := errors.New(`is forbidden: User "system:serviceaccount:` + secret + `:controllers" cannot do this`)
	for name, tc := range map[string]struct {
		refused func(*http.Request) bool
		class   string // that asks for the namespace's labels, or not
		reason  string
		words   []string
	}{
		"to list classes (N10)": {
			refused: func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/gadgetclasses") },
			reason:  "NoMatchingClass", words: []string{"could not be listed", "ask your platform team"},
		},
		"to read the labels of the namespace (N10)": {
			refused: func(r *http.Request) bool {
				return strings.Contains(r.URL.Path, "/api/v1/namespaces/") && !strings.Contains(r.URL.Path, "/events")
			},
			class:  "silver",
			reason: "NoMatchingClass", words: []string{"could not be listed", "ask your platform team"},
		},
		"to write the class (N10)": {
			refused: func(r *http.Request) bool {
				return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/itemclaims/") && !strings.HasSuffix(r.URL.Path, "/status")
			},
			reason: "Binding", words: []string{"no controller assigns it", "Ask your platform team"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newClassStage(t)
			s.onRequest(func(r *http.Request) error {
				if tc.refused(r) {
					return raw
				}
				return nil
			})
			first := labelled(s.item("a"), labels.Set{"size": "small"})
			if tc.class != "" {
				only(first, tc.class)
			}
			s.create(first, labelled(s.item("b"), labels.Set{"size": "small"}))
			s.start(func(mgr manager.Manager) error {
				if err := assigners(itemClass)(mgr); err != nil {
					return err
				}
				r := claim.NewReconciler(mgr, itemClaims)
				r.Patience = 200 * time.Millisecond
				return r.SetupWithManager(mgr)
			})
			c := s.claim("waits", labels.Set{"size": "small"})
			s.create(c)
			s.Eventually(t, "the claim says what to do", s.shows(c, tc.reason, tc.words...))
			said := []string{}
			for _, condition := range c.Status.Conditions {
				said = append(said, condition.Message)
			}
			events := &corev1.EventList{}
			if err := s.Client.List(t.Context(), events, client.InNamespace(s.Namespace)); err != nil {
				t.Fatal(err)
			}
			for _, e := range events.Items {
				said = append(said, e.Message)
			}
			for _, words := range said {
				if strings.Contains(words, secret) || strings.Contains(words, "forbidden") {
					t.Errorf("the team reads: %s", words)
				}
			}
		})
	}
}
