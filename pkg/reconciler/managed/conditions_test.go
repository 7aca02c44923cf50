// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// settled makes the first pass.
func (s *stage) settled() { s.pass() }

func TestFailedCreation(t *testing.T) {
	t.Parallel()
	t.Run("its time is recorded and the next pass may create (R75, R76, R80, R87, R95)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.failOnce("Create", errors.New("no room left"), nil)
		s.pass()
		want := map[string]string{"crossplane.io/external-name": s.key.Name,
			"crossplane.io/external-create-pending": pending, "crossplane.io/external-create-failed": pending}
		if diff := cmp.Diff(want, s.thing().Annotations); diff != "" {
			t.Errorf("annotations -want +got:\n%s", diff)
		}
		s.pass()
		if failed := s.thing().Annotations["crossplane.io/external-create-failed"]; s.system.Called("Create") != 2 || failed != pending {
			t.Errorf("Create was called %d times, the annotation is %q", s.system.Called("Create"), failed)
		}
	})
}

func TestOutdated(t *testing.T) {
	t.Parallel()
	t.Run("nothing is created from an outdated object (R78)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.during("Observe", func() { s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 5 }) })
		s.pass()
		if n := s.system.Called("Create"); n != 0 {
			t.Errorf("Create was called %d times", n)
		}
		s.system.Fault = nil
		s.pass()
		if got := s.has().Size; got != 5 {
			t.Errorf("created with size %d", got)
		}
	})
}

// Authors have reasons and conditions of their own.
func TestOwnConditions(t *testing.T) {
	t.Parallel()
	t.Run("they are stored and stay (R30, R32, R193)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.alter(func(mg *thing.Thing, _ *managed.ExternalObservation) {
			warm := xpv1.Unavailable()
			warm.Reason = "WarmingUp"
			mg.SetConditions(warm, xpv1.Condition{Type: "Backup", Status: corev1.ConditionTrue, Reason: "Done", LastTransitionTime: warm.LastTransitionTime})
		})
		s.pass()
		s.failOnce("Observe", errors.New("boom"), nil)
		s.pass()
		mg := s.thing()
		if got := s.state(); got != "Ready=WarmingUp Synced=ReconcileError" || mg.GetCondition("Backup").Reason != "Done" {
			t.Errorf("the user sees %s, conditions %+v", got, mg.Status.Conditions)
		}
	})
}

// Clients that break the rules.
func TestWrongClients(t *testing.T) {
	t.Parallel()
	t.Run("one that comes with an error is not used (R20)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil, managed.WithExternalConnecter(plain{err: errors.New("no credentials")}))
		s.pass()
		s.wantMessage("no credentials")
	})
	t.Run("one of another type is refused (R29)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil, managed.WithTypedExternalConnecter[*other](otherConnecter{}))
		s.pass()
		s.wantMessage("managed resource is not a other")
	})
	t.Run("without any, the object says so (A52)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.options = nil
		s.restart(s.env.Config)
		s.pass()
		s.wantMessage("without an external connecter")
	})
}

type other struct{ thing.Thing }

type otherConnecter struct{}

func (otherConnecter) Connect(context.Context, *other) (managed.TypedExternalClient[*other], error) {
	return nil, errors.New("should not be reached")
}

// plain is a connecter and client as the guides write them: without a Go type of its own, everything exists.
type plain struct{ err error }

var (
	_ managed.ExternalConnecter = plain{}
	_ managed.ExternalClient    = plain{}
	_ reconcile.Reconciler      = &managed.Reconciler{}
)

func (p plain) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return p, p.err
}

func (p plain) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if p.err != nil {
		panic("a client that came with an error is used (R20)")
	}
	mg.SetConditions(xpv1.Available())
	details := managed.ConnectionDetails{"endpoint": []byte("192.0.2.1")}
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, ConnectionDetails: details}, nil
}

func (plain) Create(context.Context, resource.Managed) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, nil
}

func (plain) Update(context.Context, resource.Managed) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, nil
}

func (plain) Delete(context.Context, resource.Managed) error { return nil }

func TestPlainClient(t *testing.T) {
	t.Parallel()
	t.Run("a client of the guides (A50, A51, A52, A53, A54, A55, A56, A57, R48, R212)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, func(mg *thing.Thing) {
			mg.Annotations = map[string]string{meta.AnnotationKeyExternalName: mg.Name}
		}, managed.WithExternalConnecter(plain{}))
		s.pass()
		if got := s.state(); got != "Ready=Available Synced=ReconcileSuccess" || s.connection()["endpoint"] != "192.0.2.1" {
			t.Errorf("the user sees %s, the secret %v", got, s.connection())
		}
	})
}

// Events as a user of the API server sees them.
func TestEventsInAPIServer(t *testing.T) {
	t.Parallel()
	t.Run("source, type, reason and count (R9, R85, R201, R202, R203, R204, R205)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, nil)
		s.reconciler = newReconciler(t, s.env.Config, managed.WithTypedExternalConnecter[*thing.Thing](s.system), managed.WithVendorNames())
		s.annotate(meta.AnnotationKeyExternalCreatePending, pending)
		s.pass()
		for range 2 {
			s.annotate(meta.AnnotationKeyReconciliationPaused, "true")
			s.pass()
			s.annotate(meta.AnnotationKeyReconciliationPaused, "")
			s.pass()
		}
		list := &corev1.EventList{}
		if err := s.env.Client.List(t.Context(), list, client.MatchingFields{"involvedObject.name": s.key.Name}); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range list.Items {
			got[e.Reason] = fmt.Sprintf("%s from %s x%d", e.Type, e.Source.Component, e.Count)
		}
		want := map[string]string{
			"CannotInitializeManagedResource": "Warning from managed/thing.test.bowline.dev x3",
			"ReconcilePaused":                 "Normal from managed/thing.test.bowline.dev x2",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
