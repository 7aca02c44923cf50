// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"context"
	"fmt"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/bowline-dev/bowline/pkg/reference"
)

// nowhere is a client of an empty server that costs nothing, so that only the tracker is measured.
type nowhere struct {
	client.Client
	scheme *runtime.Scheme
	mapper apimeta.RESTMapper
}

func (n nowhere) GroupVersionKindFor(o runtime.Object) (schema.GroupVersionKind, error) {
	return apiutil.GVKForObject(o, n.scheme)
}
func (n nowhere) RESTMapper() apimeta.RESTMapper { return n.mapper }
func (n nowhere) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}
func (n nowhere) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func newNowhere() nowhere {
	mapper := apimeta.NewDefaultRESTMapper(nil)
	mapper.Add(networkKind, apimeta.RESTScopeRoot)
	return nowhere{scheme: scheme(), mapper: mapper}
}

const many = 10_000

// Each of 10,000 dependents waits for an object of its own, and selects another with labels of its own.
func populate(b *testing.B, c client.Client) *reference.Tracker {
	b.Helper()
	tracker := reference.NewTracker(nil)
	for i := range many {
		pass(b, tracker, c, i)
	}
	return tracker
}

func pass(b *testing.B, tracker *reference.Tracker, c client.Client, i int) {
	b.Helper()
	recorder := tracker.Recorder(dependent(fmt.Sprint(i)), c)
	if err := recorder.Get(b.Context(), client.ObjectKey{Name: fmt.Sprint(i)}, &Network{}); err != nil {
		b.Fatal(err)
	}
	if err := recorder.List(b.Context(), &NetworkList{}, client.MatchingLabels{"app": fmt.Sprint(i % 100)}); err != nil {
		b.Fatal(err)
	}
	recorder.Done(nil)
}

func BenchmarkTrackerPass(b *testing.B) {
	c := newNowhere()
	tracker := populate(b, c)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		pass(b, tracker, c, i%many)
	}
}

func BenchmarkTrackerNamedEvent(b *testing.B) {
	tracker := populate(b, newNowhere())
	before, after := network("", version("1"))("5").(*Network), network("", version("2"))("5").(*Network)
	after.Annotations = nil
	b.ReportAllocs()
	for b.Loop() {
		if got := tracker.Handle(networkKind, before, after); len(got) != 1 {
			b.Fatalf("woke %d", len(got))
		}
	}
}

func BenchmarkTrackerIrrelevantEvent(b *testing.B) {
	tracker := populate(b, newNowhere())
	before, after := network("", version("1"))("5"), network("", version("2"))("5")
	b.ReportAllocs()
	for b.Loop() {
		if got := tracker.Handle(networkKind, before, after); len(got) != 0 {
			b.Fatalf("woke %d", len(got))
		}
	}
}
