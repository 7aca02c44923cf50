// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// measureFloors measures a bare client that knows everything beforehand: first with the six requests of a crash-safe creation
// with a Secret and an event, then with the three that every creation needs.
func (b *bench) measureFloors(ctx context.Context) error {
	if err := b.measureFloor(ctx, report.SixRequests, create, beginCreation, createSecret, endCreation, createEvent, writeStatus); err != nil {
		return err
	}
	return b.measureFloor(ctx, report.ThreeRequests, create, createSecret, writeStatus)
}

// measureFloor measures several numbers of workers, on a fresh server each. The fastest counts.
func (b *bench) measureFloor(ctx context.Context, floor string, requests ...request) error {
	fastest, seconds := "", 0.0
	for _, workers := range b.floorWorkers {
		phase := fmt.Sprintf("%s, %d at once", floor, workers)
		err := b.withPlane(ctx, func(p *plane) error {
			return b.phase(ctx, phase, p, nil, func(ctx context.Context) error { return b.send(ctx, phase, p, workers, requests) })
		})
		if err != nil {
			return err
		}
		if took, _ := b.report.Get(phase, "seconds"); fastest == "" || took < seconds {
			fastest, seconds = phase, took
		}
	}
	for _, f := range b.report.Figures {
		if f.Phase == fastest {
			b.report.Add(floor, f.Name, f.Value)
		}
	}
	return nil
}

// send sends the requests for each object.
func (b *bench) send(ctx context.Context, phase string, p *plane, workers int, requests []request) error {
	var done atomic.Int64
	defer b.logProgress(ctx, phase, func() int { return int(done.Load()) }, b.objects)()
	begin := time.Now()
	err := b.forEach(ctx, workers, func(ctx context.Context, i int) error {
		s := object(i)
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
