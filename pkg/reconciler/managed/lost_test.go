// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// editSecret changes the connection secret as a person does; nil removes it.
func (s *stage) editSecret(change func(*corev1.Secret)) {
	s.t.Helper()
	secret := &corev1.Secret{}
	err := s.env.Client.Get(s.t.Context(), s.secret, secret)
	if err == nil && change == nil {
		err = s.env.Client.Delete(s.t.Context(), secret)
	} else if err == nil {
		change(secret)
		err = s.env.Client.Update(s.t.Context(), secret)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// A connection secret that was lost while no process watched: what only the creation told is lost, and said to be.
func TestLostDetails(t *testing.T) {
	t.Parallel()
	lose := func(t *testing.T, change func(*thing.System)) *stage {
		t.Helper()
		s := newStage(t, nil)
		change(s.system)
		s.settled()
		s.events.Take()
		s.editSecret(nil)
		s.restart(s.env.Config)
		s.system.TakeCalls()
		s.pass()
		return s
	}
	t.Run("R208 N22 it is told once, until it is there again", func(t *testing.T) {
		t.Parallel()
		s := lose(t, func(*thing.System) {})
		for range 2 {
			if got := s.state(); got != "Ready=Available Synced=ReconcileError" {
				t.Errorf("the user sees %s", got)
			}
			s.wantMessage(s.secret.String()+" lost password, which", managed.AnnotationKeyCreatedKeys)
			s.pass()
		}
		if diff := cmp.Diff([]event.Reason{managed.ReasonDetailsLost}, s.events.Take()); diff != "" {
			t.Errorf("events -want +got:\n%s", diff)
		}
		s.editSecret(func(secret *corev1.Secret) { secret.Data["password"] = []byte("password-1") })
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s: %s", got, s.message())
		}
	})
	t.Run("R208 N22 who can do without says so", func(t *testing.T) {
		t.Parallel()
		s := lose(t, func(*thing.System) {})
		s.annotate(managed.AnnotationKeyCreatedKeys, "")
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s: %s", got, s.message())
		}
	})
}

// What becomes of keys that the creation told.
func TestCreatedKeys(t *testing.T) {
	t.Parallel()
	t.Run("R208 N22 nothing is missed where no secret is wanted", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) { mg.Spec.WriteConnectionSecretToReference = nil })
		s.pass()
		if got, ok := s.thing().Annotations[managed.AnnotationKeyCreatedKeys]; ok {
			t.Errorf("keys %q are remembered", got)
		}
	})
	t.Run("P65 N22 a client that chooses passwords sets another", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.system.Chooses = true
		s.settled()
		s.system.Do(func(sys *thing.System) {
			for name, have := range sys.Resources {
				have.Password = "unknown by now"
				sys.Resources[name] = have
			}
		})
		s.editSecret(nil)
		s.restart(s.env.Config)
		s.failOnce("Update", errors.New("boom"), nil)
		s.pass()
		if got := s.connection()["password"]; got != "" {
			t.Errorf("the secret has %q, which the system does not know", got)
		}
		s.pass()
		if got, want := s.connection()["password"], s.system.Resources[s.key.Name].Password; got != "chosen" || got != want {
			t.Errorf("the secret has %q, the system %q", got, want)
		}
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" {
			t.Errorf("the user sees %s: %s", got, s.message())
		}
		s.system.TakeCalls()
		if s.pass(); s.system.Called("Update") > 0 {
			t.Error("it is set again and again")
		}
	})
	t.Run("R208 N22 what a process cut off after the answer had stored is remembered", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.settled()
		s.edit(func(mg *thing.Thing) { // as it was before the result was recorded
			delete(mg.Annotations, managed.AnnotationKeyCreatedKeys)
			delete(mg.Annotations, "crossplane.io/external-create-succeeded")
		})
		s.restart(s.env.Config)
		s.pass()
		if got := s.thing().Annotations[managed.AnnotationKeyCreatedKeys]; got != "endpoint,password" {
			t.Errorf("keys %q are remembered", got)
		}
	})
}

// A connection secret that is lost while a controller runs comes back at once, with all that it held.
func TestLostSecret(t *testing.T) {
	t.Parallel()
	env := controlplanetest.NewWithScheme(t, newScheme(t))
	mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: env.Prefix + "lost"}}
	mg.Spec.ForProvider.Size = 1
	mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: env.Namespace, Name: "lost"}
	only := cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, mg.Name)}
	system := thing.NewSystem()
	runController(t, env.Config, system, only, managed.WithPollInterval(time.Hour))
	if err := env.Client.Create(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { strike(env, mg.Name) })
	eventually(t, env, mg, "Ready", func() bool { return mg.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonAvailable })
	secret := &corev1.Secret{}
	key := client.ObjectKey{Namespace: env.Namespace, Name: "lost"}
	read := func() {
		t.Helper()
		if err := env.Client.Get(t.Context(), key, secret); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"R208 N22 deleted", "R208 N22 deleted again"} {
		t.Run(name, func(t *testing.T) {
			read()
			was := secret.UID
			if err := env.Client.Delete(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
			env.Eventually(t, "it is there again", func(ctx context.Context) error {
				have := &corev1.Secret{}
				if err := env.Client.Get(ctx, key, have); err != nil {
					return err
				}
				if have.UID == was || string(have.Data["password"]) != "password-1" || string(have.Data["endpoint"]) != "there" {
					return fmt.Errorf("it has %d keys", len(have.Data))
				}
				return nil
			})
		})
	}
	t.Run("R214 N22 what somebody forged elsewhere is not taken", func(t *testing.T) {
		forged := &corev1.Secret{}
		forged.Namespace, forged.Name = controlplanetest.NewWithScheme(t, newScheme(t)).Namespace, "lost"
		forged.Type, forged.Data = xpv1.SecretTypeConnection, map[string][]byte{"kubeconfig": []byte("forged")}
		read()
		forged.OwnerReferences = secret.OwnerReferences
		left := forged.DeepCopy()
		left.Name = "left"
		for _, do := range []func() error{
			func() error { return env.Client.Create(t.Context(), left) },
			func() error { return env.Client.Create(t.Context(), forged) },
			func() error { return env.Client.Delete(t.Context(), forged) },
			func() error { return env.Client.Delete(t.Context(), secret) },
		} {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		env.Eventually(t, "it is there again", func(ctx context.Context) error { return env.Client.Get(ctx, key, secret) })
		if _, taken := secret.Data["kubeconfig"]; taken || len(secret.Data) != 2 {
			t.Errorf("it has %d keys, taken: %t", len(secret.Data), taken)
		}
	})
}
