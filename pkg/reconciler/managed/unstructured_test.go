// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// bridge serves objects without a Go type by the external system of Things.
type bridge struct{ system *thing.System }

func (b bridge) Connect(ctx context.Context, _ *unstructured.Managed) (managed.TypedExternalClient[*unstructured.Managed], error) {
	c, err := b.system.Connect(ctx, nil)
	return bridged{c}, err
}

type bridged struct {
	things managed.TypedExternalClient[*thing.Thing]
}

// Unwrap gives access to the optional interfaces of the client of Things.
func (b bridged) Unwrap() any { return b.things }

func (b bridged) Observe(ctx context.Context, mg *unstructured.Managed) (managed.ExternalObservation, error) {
	return asThing(mg, func(t *thing.Thing) (managed.ExternalObservation, error) { return b.things.Observe(ctx, t) })
}

func (b bridged) Create(ctx context.Context, mg *unstructured.Managed) (managed.ExternalCreation, error) {
	return asThing(mg, func(t *thing.Thing) (managed.ExternalCreation, error) { return b.things.Create(ctx, t) })
}

func (b bridged) Update(ctx context.Context, mg *unstructured.Managed) (managed.ExternalUpdate, error) {
	return asThing(mg, func(t *thing.Thing) (managed.ExternalUpdate, error) { return b.things.Update(ctx, t) })
}

func (b bridged) Delete(ctx context.Context, mg *unstructured.Managed) error {
	_, err := asThing(mg, func(t *thing.Thing) (any, error) { return nil, b.things.Delete(ctx, t) })
	return err
}

// asThing calls a client of Things for an object without a Go type.
func asThing[R any](mg *unstructured.Managed, call func(*thing.Thing) (R, error)) (r R, err error) {
	t := &thing.Thing{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(mg.Object, t); err != nil {
		return r, err
	}
	r, err = call(t)
	u, convertErr := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
	mg.SetUnstructuredContent(u)
	return r, errors.Join(err, convertErr)
}

func newUnstructured() resource.Managed { return unstructured.New(thing.GroupVersionKind) }

// newUnstructuredStage is newStage with a reconciler that knows nothing of the Go type.
func newUnstructuredStage(t *testing.T, change func(*thing.Thing)) *stage {
	t.Helper()
	s := newStage(t, change)
	s.options = append(s.options,
		managed.WithNewManaged(newUnstructured),
		managed.WithClient(unstructured.NewClient(s.env.Client)),
		managed.WithTypedExternalConnecter[*unstructured.Managed](bridge{s.system}))
	s.restart(s.env.Config)
	return s
}

// A kind without a Go type lives the same life as one with.
func TestLifeUnstructured(t *testing.T) {
	t.Parallel()
	s := newUnstructuredStage(t, nil)
	for _, m := range life(s) {
		m.act()
		s.clock = s.clock.Add(time.Second)
		s.pass()
		if diff := cmp.Diff(m.calls, s.system.TakeCalls()); diff != "" {
			t.Errorf("%s: calls -want +got:\n%s", m.name, diff)
		}
		if got := s.state(); got != m.state {
			t.Errorf("%s: the user sees %s, want %s", m.name, got, m.state)
		}
		if diff := cmp.Diff(m.events, s.events.Take()); diff != "" {
			t.Errorf("%s: events -want +got:\n%s", m.name, diff)
		}
	}
}

// What users say in the common fields counts for such a kind too.
func TestRolesUnstructured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		given func(*thing.Thing)
		then  func(*stage)
		want  string
		holds func(*thing.Thing) bool
	}{
		"no actions: paused, and they stay none (R104, R106)": {
			given: func(mg *thing.Thing) { mg.Spec.ManagementPolicies = xpv1.ManagementPolicies{} },
			want:  "Ready= Synced=ReconcilePaused",
			holds: func(mg *thing.Thing) bool { return mg.Spec.ManagementPolicies.Empty() },
		},
		"what the system chose is stored (R150)": {
			want: "Ready=Available Synced=ReconcileSuccess",
			holds: func(mg *thing.Thing) bool {
				return mg.Spec.ForProvider.Zone != nil && *mg.Spec.ForProvider.Zone == "north"
			},
		},
		"without Update drift shows (R135, N8)": {
			given: func(mg *thing.Thing) { mg.Spec.ManagementPolicies = xpv1.ManagementPolicies{"Observe", "Create"} },
			then:  func(s *stage) { s.edit(func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 }) },
			want:  "Ready=Available Synced=ReconcileSuccess",
			holds: func(mg *thing.Thing) bool { return len(mg.Status.Drift) == 1 && mg.Status.Drift[0].Path == "size" },
		},
		"orphaned (R57, N3)": {
			given: func(mg *thing.Thing) { mg.Spec.DeletionPolicy = xpv1.DeletionOrphan },
			then:  func(s *stage) { s.delete() },
			want:  "gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUnstructuredStage(t, tc.given)
			s.system.Zone = "north"
			s.pass()
			if tc.then != nil {
				tc.then(s)
				s.pass()
			}
			if got := s.state(); got != tc.want {
				t.Errorf("the user sees %s, want %s", got, tc.want)
			}
			if mg := s.thing(); tc.holds != nil && !tc.holds(mg) {
				t.Errorf("the object is %+v", mg)
			}
			if tc.want == "gone" && len(s.system.Snapshot()) != 1 {
				t.Error("the external resource was deleted")
			}
		})
	}
}

// startUnstructured runs a controller of one Thing whose scheme does not know Things.
func startUnstructured(t *testing.T, config *rest.Config, system *thing.System, name string) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	options := managed.CacheOptions()
	options.ByObject[unstructured.New(thing.GroupVersionKind)] = cache.ByObject{
		Field: fields.OneTermEqualSelector(metav1.ObjectNameField, name),
	}
	run := manager.Options{Scheme: scheme, Cache: options, Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}}}
	controlplanetest.RunManager(t, config, run, func(mgr manager.Manager) error {
		r := managed.NewReconciler(mgr, resource.ManagedKind(thing.GroupVersionKind),
			managed.WithNewManaged(newUnstructured),
			managed.WithClient(unstructured.NewClient(mgr.GetClient())),
			managed.WithTypedExternalConnecter[*unstructured.Managed](bridge{system}),
			managed.WithPollInterval(20*time.Millisecond))
		return ctrl.NewControllerManagedBy(mgr).Named(strings.ToLower(t.Name())).
			For(unstructured.New(thing.GroupVersionKind).GetUnstructured()).WatchesRawSource(r.Wakeups()).Complete(r)
	})
}
