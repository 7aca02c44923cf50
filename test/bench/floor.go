// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/bowline-dev/bowline/test/bench/provider"
)

const (
	sixRequests   = "floor of six requests"
	threeRequests = "floor of three requests"
)

// A request of the bare client for one object, which it updates from the answer.
type request func(ctx context.Context, c client.Client, s *shop.Item) error

// measureFloors measures a bare client that knows everything beforehand: first with the six requests of a crash-safe creation with
// a Secret and an event, then with the three that every creation needs.
func (b *bench) measureFloors(ctx context.Context) error {
	if err := b.measureFloor(ctx, sixRequests, create, beginCreation, createSecret, endCreation, createEvent, writeStatus); err != nil {
		return err
	}
	return b.measureFloor(ctx, threeRequests, create, createSecret, writeStatus)
}

// measureFloor measures several numbers of workers. The fastest counts.
func (b *bench) measureFloor(ctx context.Context, floor string, requests ...request) error {
	fastest, phase := 0.0, ""
	for _, workers := range []int{1, 8, 32} {
		attempt := fmt.Sprintf("%s, %d at once", floor, workers)
		seconds, err := b.tryFloor(ctx, attempt, workers, requests)
		if err != nil {
			return err
		}
		if phase == "" || seconds < fastest {
			fastest, phase = seconds, attempt
		}
	}
	for _, figure := range b.report.Figures {
		if figure.Phase == phase {
			b.report.Add(floor, figure.Name, figure.Value)
		}
	}
	return nil
}

// tryFloor runs the requests with one number of workers on a fresh server.
func (b *bench) tryFloor(ctx context.Context, phase string, workers int, requests []request) (seconds float64, err error) {
	p, err := b.startPlane(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	var done atomic.Int64
	m, err := b.begin(ctx, phase, p, nil)
	if err != nil {
		return 0, err
	}
	defer b.tell(phase, func() int { return int(done.Load()) })()
	ctx, cancel := b.limited(ctx)
	defer cancel()
	begin := time.Now()
	err = b.forEach(ctx, workers, func(ctx context.Context, i int) error {
		s := object(i)
		for _, do := range requests {
			if err := do(ctx, p.client, s); err != nil {
				return fmt.Errorf("bare client, object %s: %w", s.Name, err)
			}
		}
		done.Add(1)
		return nil
	})
	if err != nil {
		return 0, err
	}
	seconds = time.Since(begin).Seconds()
	b.report.Add(phase, "seconds", seconds)
	b.report.Add(phase, "objects per second", float64(b.objects)/seconds)
	b.report.Add(phase, "objects at once", float64(workers))
	return seconds, m.end(ctx)
}

// compareWithFloor adds to the phase create its ratio to each floor, in seconds and in CPU seconds. The second depends little on
// other load.
func (b *bench) compareWithFloor() {
	for _, floor := range []string{sixRequests, threeRequests} {
		least, measured := b.report.Get(floor, "seconds")
		if took, ok := b.report.Get("create", "seconds"); ok && measured {
			b.report.Add("create", "times the "+floor+", seconds", took/least)
			b.report.Add("create", "times the "+floor+", CPU seconds", b.cpuOf("create")/b.cpuOf(floor))
		}
	}
}

// cpuOf returns the processor time of all processes of a phase.
func (b *bench) cpuOf(phase string) (seconds float64) {
	for _, process := range []string{"controllers", "API server", "harness"} {
		used, _ := b.report.Get(phase, process+": CPU seconds")
		seconds += used
	}
	return seconds
}

func create(ctx context.Context, c client.Client, s *shop.Item) error { return c.Create(ctx, s) }

func beginCreation(ctx context.Context, c client.Client, s *shop.Item) error {
	base := s.DeepCopy()
	meta.AddFinalizer(s, managed.Finalizer)
	meta.SetExternalName(s, s.Name)
	meta.SetExternalCreatePending(s, time.Now())
	return c.Patch(ctx, s, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
}

func createSecret(ctx context.Context, c client.Client, s *shop.Item) error {
	return c.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       namespace,
			Name:            s.Name,
			Annotations:     s.Annotations,
			OwnerReferences: []metav1.OwnerReference{meta.AsController(s, shop.ItemGroupVersionKind)},
		},
		Type: xpv1.SecretTypeConnection,
		Data: provider.Details(s.Name),
	})
}

func endCreation(ctx context.Context, c client.Client, s *shop.Item) error {
	base := s.DeepCopy()
	meta.SetExternalCreateSucceeded(s, time.Now())
	return c.Patch(ctx, s, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
}

func createEvent(ctx context.Context, c client.Client, s *shop.Item) error {
	return event.NewAPIRecorder(c, c, "bench").Event(ctx, s, event.Normal(managed.ReasonCreated, "Created the external resource "+s.Name))
}

func writeStatus(ctx context.Context, c client.Client, s *shop.Item) error {
	base := s.DeepCopy()
	s.SetConditions(xpv1.ReconcileSuccess().WithObservedGeneration(s.Generation), xpv1.Available().WithObservedGeneration(s.Generation))
	s.Status.AtProvider = shop.ItemObservation{Size: *s.Spec.ForProvider.Size, Shelf: string(provider.Details(s.Name)["endpoint"])}
	return c.Status().Patch(ctx, s, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
}
