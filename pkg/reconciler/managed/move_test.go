// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// owned is the reference of what belongs to the Thing, which anybody may write into a secret.
func (s *stage) owned() []metav1.OwnerReference {
	return []metav1.OwnerReference{meta.AsController(s.thing(), thing.GroupVersionKind)}
}

// move has the Thing name another secret, in a namespace of its own.
func (s *stage) move() {
	s.t.Helper()
	s.secret = types.NamespacedName{Namespace: controlplanetest.NewWithScheme(s.t, newScheme(s.t)).Namespace, Name: "moved"}
	s.edit(func(mg *thing.Thing) {
		mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.secret.Namespace, Name: s.secret.Name}
	})
}

// Another connection secret takes over what the first one holds, wherever they are.
func TestMovedSecret(t *testing.T) {
	t.Parallel()
	created := map[string]string{"endpoint": "there", "password": "password-1"}
	forge := func(s stage) {
		s.secret.Name = "forged"
		s.publishOnly("kubeconfig", "forged")
	}
	for name, act := range map[string]func(*stage){
		"P65 N22 in another namespace, after a restart": func(s *stage) {
			s.move()
			s.restart(s.env.Config)
		},
		"P65 N22 and on to a third": func(s *stage) {
			first := *s
			s.move()
			s.pass()
			first.editSecret(nil)
			s.move()
		},
		"P65 N22 though there was none in between": func(s *stage) {
			s.edit(func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = nil })
			s.pass()
			s.move()
		},
		"P65 N22 though there was none in between when the first one was deleted": func(s *stage) {
			woken := s.watch(s.env.Config)
			s.edit(func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = nil })
			s.editSecret(nil)
			woken()
			s.pass()
			s.move()
		},
		"P65 N22 though nothing else is told": func(s *stage) {
			s.alter(func(_ *thing.Thing, o *managed.ExternalObservation) { o.ConnectionDetails = nil })
			s.move()
		},
		"P65 N22 though the first one is deleted at once": func(s *stage) {
			woken, first := s.watch(s.env.Config), *s
			s.move()
			first.editSecret(nil)
			woken()
		},
		"R214 N22 nothing that somebody forged": func(s *stage) {
			forge(*s)
			s.move()
			forge(*s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, nil)
			s.settled()
			act(s)
			s.pass()
			if diff := cmp.Diff(created, s.connection()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got := s.thing().Annotations[managed.AnnotationKeyPublishedTo]; got != s.secret.String() {
				t.Errorf("it says to be published to %q", got)
			}
			writes := s.countWrites()
			s.pass()
			if made, _ := s.take(writes); len(made) != 0 || s.state() != "Ready=Available Synced=ReconcileSuccess" {
				t.Errorf("wrote %v, the user sees %s: %s", made, s.state(), s.message())
			}
		})
	}
	t.Run("P65 N13 what is adopted says where it is published, in one write", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) { mg.Annotations = map[string]string{meta.AnnotationKeyExternalName: "theirs"} })
		s.system.Resources["theirs"] = thing.Resource{Size: 1}
		writes := s.countWrites()
		s.pass()
		made, _ := s.take(writes)
		if got := s.thing().Annotations[managed.AnnotationKeyPublishedTo]; got != s.secret.String() || len(made) != 3 {
			t.Errorf("it says to be published to %q, wrote %v", got, made)
		}
	})
}

// Who may write to an object in a namespace cannot have it take over the secrets of others.
func TestMovedLocalSecret(t *testing.T) {
	t.Parallel()
	s := newLocalStage(t)
	mg, secret := &thing.Thing{}, &corev1.Secret{}
	s.pass(t)
	if err := s.Get(t.Context(), s.key, mg); err != nil {
		t.Fatal(err)
	}
	secret.Namespace, secret.Name, secret.Data = s.namesake.Namespace, "theirs", map[string][]byte{"kubeconfig": []byte("theirs")}
	secret.OwnerReferences = []metav1.OwnerReference{meta.AsController(mg, thing.LocalGroupVersionKind)}
	secret.Finalizers = []string{"test.bowline.dev/hold"} // else garbage collection takes it away
	if err := s.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.Patch(context.Background(), secret, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
	})
	for name, tc := range map[string]struct{ from, want string }{
		"N1 R214 not from another namespace": {from: s.namesake.Namespace + "/theirs"},
		"N1 P65 from its own":                {from: mg.Annotations[managed.AnnotationKeyPublishedTo], want: "password-1"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := s.Get(t.Context(), s.key, mg); err != nil {
				t.Fatal(err)
			}
			mg.Annotations[managed.AnnotationKeyPublishedTo] = tc.from
			mg.Spec.WriteConnectionSecretToReference.Name = "new" + tc.want
			if err := s.Update(t.Context(), mg); err != nil {
				t.Fatal(err)
			}
			s.pass(t)
			have := &corev1.Secret{}
			key := types.NamespacedName{Namespace: s.key.Namespace, Name: "new" + tc.want}
			if err := s.Get(t.Context(), key, have); err != nil || string(have.Data["password"]) != tc.want || have.Data["kubeconfig"] != nil {
				t.Errorf("it has %d keys, %v", len(have.Data), err)
			}
		})
	}
}
