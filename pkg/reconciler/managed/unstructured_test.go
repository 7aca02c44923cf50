// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// bridge serves objects without a Go type by the external system of Things.
type bridge struct{ system *thing.System }

func (b bridge) Connect(ctx context.Context, _ *unstructured.Managed) (managed.TypedExternalClient[*unstructured.Managed],
	error) {
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

func newUnstructured() resource.Managed { return unstructured.New(thing.ThingGroupVersionKind) }

// untyped has the Thing reconciled without its Go type.
func untyped(s *stage) {
	s.wrap = unstructured.NewClient
	s.play(with(managed.WithNewManaged(newUnstructured),
		managed.WithTypedExternalConnecter[*unstructured.Managed](bridge{s.system})))
}

// What users set in the common fields counts for a kind without a Go type, too. See also TestLife.
func TestUntyped(t *testing.T) {
	play(t, scripts{
		"no actions: paused, and they stay none (R104, R106)": {untyped, allow(), pass, sees("Ready= Synced=ReconcilePaused"),
			object("no actions", func(mg *thing.Thing) bool { return mg.Spec.ManagementPolicies.Empty() })},
		"what the system chose is stored (R150)": {untyped, zoneOf("north"), pass, sees(ready),
			object("zone", func(mg *thing.Thing) bool {
				return mg.Spec.ForProvider.Zone != nil && *mg.Spec.ForProvider.Zone == "north"
			})},
		"without Update drift shows (R135, N8)": {untyped, allow("Observe", "Create"), pass, size(2), pass, sees(ready),
			drift("False Drifted [size 1->2]")},
		"orphaned (R57, N3)": {untyped, edit(func(mg *thing.Thing) { mg.Spec.DeletionPolicy = xpv1.DeletionOrphan }),
			pass, deleted, pass, sees(gone), resources(1)},
	})
}

// Objects without a Go type come from the cache, a copy for each reader. Typed objects pass through.
func TestUntypedClient(t *testing.T) {
	t.Parallel()
	f := newFleet(t)
	stored := f.add("cached", nil)
	var reads atomic.Int32
	counted := fault.Intercept(f.env.Config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/"+stored.Name) {
			reads.Add(1)
		}
		return next.RoundTrip(r)
	})
	var c client.Client
	run := manager.Options{Scheme: scheme()}
	controlplanetest.RunManager(t, counted, run, func(mgr manager.Manager) error {
		c = unstructured.ClientOf(mgr)
		return nil
	})
	first, second, typed := unstructured.New(thing.ThingGroupVersionKind), unstructured.New(thing.ThingGroupVersionKind), &thing.Thing{}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a cache that nothing fills makes readers wait
	defer cancel()
	for _, o := range []client.Object{first, second, typed} {
		if err := c.Get(ctx, client.ObjectKeyFromObject(stored), o); err != nil || o.GetUID() != stored.UID {
			t.Fatalf("read %v: %v", o, err)
		}
		first.SetBindingPhase(xpv1.BindingPhaseBound)
	}
	if phase := second.GetBindingPhase(); phase != "" {
		t.Errorf("what one reader sets the next one sees: %s", phase)
	}
	if size := typed.Spec.ForProvider.Size; size != 1 {
		t.Errorf("the typed object has size %d", size)
	}
	if n := reads.Load(); n != 0 {
		t.Errorf("%d reads went past the cache", n)
	}
}
