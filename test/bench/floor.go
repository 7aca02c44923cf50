// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/test/bench/memvendor"
	"github.com/bowline-dev/bowline/test/bench/report"
)

// A request of the bare client for one object, which it updates from the answer.
type request func(ctx context.Context, c client.Client, s *shop.Item) error

// A floor is what a bare client that knows everything beforehand takes for the requests of a phase.
type floor struct {
	name     string
	requests []request
}

// measureFloors measures a crash-safe creation with a Secret and an event, the update and the deletion of such an object, and the three
// requests that every creation needs.
func (b *bench) measureFloors(ctx context.Context) error {
	if err := b.measureFloor(ctx,
		floor{report.SixRequests, []request{create, beginCreation, createSecret, endCreation, createEvent, writeStatus}},
		floor{report.FloorOfUpdate, []request{enlarge, createEvent, writeStatus}},
		floor{report.FloorOfDelete, []request{remove, createEvent, endDeletion}},
	); err != nil {
		return err
	}
	return b.measureFloor(ctx, floor{report.ThreeRequests, []request{create, createSecret, writeStatus}})
}

// measureFloor measures floors one after the other, with several numbers of workers, on a fresh server each. The fastest of each counts.
func (b *bench) measureFloor(ctx context.Context, floors ...floor) error {
	phase := func(f floor, workers int) string { return fmt.Sprintf("%s, %d at once", f.name, workers) }
	for _, workers := range b.floorWorkers {
		err := b.withPlane(ctx, func(p *plane) error {
			items := make([]*shop.Item, b.objects)
			for i := range items {
				items[i] = object(i)
			}
			for _, f := range floors {
				name := phase(f, workers)
				if err := b.phase(ctx, name, p, nil, func(ctx context.Context) error { return b.send(ctx, name, p, workers, items, f.requests) }); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, f := range floors {
		fastest := slices.MinFunc(b.floorWorkers, func(one, other int) int {
			a, _ := b.report.Get(phase(f, one), "seconds")
			c, _ := b.report.Get(phase(f, other), "seconds")
			return cmp.Compare(a, c)
		})
		for _, figure := range b.report.Figures {
			if figure.Phase == phase(f, fastest) {
				b.report.Add(f.name, figure.Name, figure.Value)
			}
		}
	}
	return nil
}

// send sends the requests for each object.
func (b *bench) send(ctx context.Context, phase string, p *plane, workers int, items []*shop.Item, requests []request) error {
	var done atomic.Int64
	defer b.logProgress(ctx, phase, func() int { return int(done.Load()) }, b.objects)()
	begin := time.Now()
	err := b.forEach(ctx, workers, func(ctx context.Context, i int) error {
		s := items[i]
		for _, do := range requests {
			if err := do(ctx, p.client, s); err != nil {
				return fmt.Errorf("bare client, object %s: %w", s.Name, err)
			}
		}
		done.Add(1)
		return nil
	})
	seconds := time.Since(begin).Seconds()
	b.report.Add(phase, "seconds", seconds)
	b.report.Add(phase, "objects per second", float64(b.objects)/seconds)
	b.report.Add(phase, "objects at once", float64(workers))
	return err
}

// patched returns a patch of what change changes, for the latest version only.
func patched(s *shop.Item, change func()) client.Patch {
	base := s.DeepCopy()
	change()
	return client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
}

func create(ctx context.Context, c client.Client, s *shop.Item) error { return c.Create(ctx, s) }

func beginCreation(ctx context.Context, c client.Client, s *shop.Item) error {
	return c.Patch(ctx, s, patched(s, func() {
		meta.AddFinalizer(s, managed.Finalizer)
		meta.SetExternalName(s, s.Name)
		meta.SetExternalCreatePending(s, time.Now())
	}))
}

func createSecret(ctx context.Context, c client.Client, s *shop.Item) error {
	return c.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: s.Name, Annotations: s.Annotations,
			OwnerReferences: []metav1.OwnerReference{meta.AsController(s, shop.ItemGroupVersionKind)},
		},
		Type: xpv1.SecretTypeConnection, Data: map[string][]byte{
			xpv1.ResourceCredentialsSecretEndpointKey: []byte(memvendor.Address(s.Name)),
			xpv1.ResourceCredentialsSecretPortKey:     []byte(strconv.Itoa(memvendor.Port)),
			xpv1.ResourceCredentialsSecretUserKey:     []byte(memvendor.Username),
			xpv1.ResourceCredentialsSecretPasswordKey: []byte(memvendor.Password(s.Name)),
		},
	})
}

func endCreation(ctx context.Context, c client.Client, s *shop.Item) error {
	return c.Patch(ctx, s, patched(s, func() { meta.SetExternalCreateSucceeded(s, time.Now()) }))
}

func createEvent(ctx context.Context, c client.Client, s *shop.Item) error {
	return event.NewAPIRecorder(c, c, "bench").Event(ctx, s, event.Normal(managed.ReasonCreated, "Created the external resource "+s.Name))
}

func writeStatus(ctx context.Context, c client.Client, s *shop.Item) error {
	return c.Status().Patch(ctx, s, patched(s, func() {
		s.SetConditions(xpv1.ReconcileSuccess().WithObservedGeneration(s.Generation), xpv1.Available().WithObservedGeneration(s.Generation))
		s.Status.AtProvider = shop.ItemObservation{Size: *s.Spec.ForProvider.Size, Shelf: memvendor.Address(s.Name)}
	}))
}

func enlarge(ctx context.Context, c client.Client, s *shop.Item) error {
	return c.Patch(ctx, s, patched(s, func() { *s.Spec.ForProvider.Size++ }))
}

func remove(ctx context.Context, c client.Client, s *shop.Item) error { return c.Delete(ctx, s) }

func endDeletion(ctx context.Context, c client.Client, s *shop.Item) error {
	return c.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
}
