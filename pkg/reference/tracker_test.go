// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reference"
)

var (
	networkKind = group.WithKind("Network")
	roomKind    = group.WithKind("Room")
)

func dependent(name string) reference.Dependent {
	return reference.Dependent{Kind: roomKind, Name: types.NamespacedName{Namespace: "team", Name: name}}
}

func names(found []reference.Dependent) string {
	var all []string
	for _, d := range found {
		all = append(all, d.Name.Name)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// look resolves for one dependent through a recorder.
func (s stage) look(t *testing.T, tracker *reference.Tracker, name string, reqs ...reference.ResolutionRequest) {
	t.Helper()
	from := room("team", name, "")
	recorder := tracker.Recorder(dependent(name), s.Client)
	for _, req := range reqs {
		req.To = toNetwork
		if _, err := reference.NewAPIResolver(recorder, from).Resolve(t.Context(), req); err != nil && !reference.IsUnresolved(err) {
			t.Fatal(err)
		}
	}
	recorder.Done(nil)
}

func (s stage) target(name string, change ...func(*Network)) client.Object {
	return network(name, append([]func(*Network){version("1")}, change...)...)(s.p)
}

func version(v string) func(*Network) { return func(n *Network) { n.ResourceVersion = v } }

// Dependents with an interest each in Networks a, which exists, b, which does not, and c, which is being created.
func TestHandle(t *testing.T) {
	t.Parallel()
	s := newStage(t, network("a"), network("c", pending))
	tracker := reference.NewTracker(nil)
	s.look(t, tracker, "holding", request{CurrentValue: "ext-a", Reference: s.ref("a", nil)})
	s.look(t, tracker, "resolved", request{Reference: s.ref("a", nil)})
	s.look(t, tracker, "following", request{Reference: s.ref("a", always)})
	s.look(t, tracker, "waiting", request{Reference: s.ref("b", nil)}, request{Reference: s.ref("c", nil)})
	s.look(t, tracker, "selecting", request{Selector: &xpv1.Selector{MatchLabels: map[string]string{"app": s.p + "none"}}})
	s.look(t, tracker, "anew", request{
		CurrentValue: "ext-a", Selector: &xpv1.Selector{MatchLabels: map[string]string{"app": s.p + "none"}, Policy: both},
	})
	s.look(t, tracker, "reading", request{Reference: s.ref("a", nil), Extract: reference.FieldPath("status.atProvider.arn")})

	now := metav1.Now()
	chosen := labelled("app", s.p+"none")
	cases := map[string]struct {
		before, after client.Object
		want          string
	}{
		"created (R167)":                       {after: s.target("b"), want: "waiting"},
		"gone (R167)":                          {before: s.target("b"), want: "waiting"},
		"creation completed (N36)":             {s.target("c", pending), s.target("c", pending, created, version("2")), "waiting"},
		"only another version (R161)":          {s.target("c"), s.target("c", version("2")), ""},
		"followed, and waited on (R168)":       {s.target("a"), s.target("a", version("2")), "following reading"},
		"what is resolved is kept (R168)":      {s.target("a"), s.target("a", unnamed), "following reading"},
		"nothing changed (R161)":               {s.target("a"), s.target("a"), ""},
		"being deleted (R169)":                 {s.target("c"), s.target("c", func(n *Network) { n.DeletionTimestamp = &now }), "waiting"},
		"created with the labels (R162, R168)": {after: s.target("d", chosen), want: "anew selecting"},
		"got the labels (R162)":                {s.target("d"), s.target("d", chosen), "anew selecting"},
		"lost the labels (R162, R168)":         {s.target("d", chosen), s.target("d"), "anew selecting"},
		"got a controller (R163)":              {s.target("d", chosen), s.target("d", chosen, owned("x")), "anew selecting"},
		"other labels (R162)":                  {after: s.target("d"), want: ""},
		"status of a match (R162)":             {s.target("d", chosen), s.target("d", chosen, version("2")), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := names(tracker.Handle(networkKind, tc.before, tc.after)); got != tc.want {
				t.Errorf("wakes %q, want %q", got, tc.want)
			}
		})
	}
	t.Run("an object of another kind (R161)", func(t *testing.T) {
		if got := names(tracker.Handle(roomKind, nil, s.target("b"))); got != "" {
			t.Errorf("wakes %q", got)
		}
	})
	t.Run("objects that wait for a kind (R167)", func(t *testing.T) {
		if got := names(tracker.Waiting(networkKind)); got != "anew following reading selecting waiting" {
			t.Errorf("%q wait for Networks", got)
		}
		if got := names(tracker.Waiting(roomKind)); got != "" {
			t.Errorf("%q wait for Rooms", got)
		}
	})
}

// A kind that cannot be watched yet is tried again by the next caller, until it can.
func TestKindThatCannotBeWatchedYet(t *testing.T) {
	t.Parallel()
	t.Run("tried before each read (R167)", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		tried, installed := 0, false
		tracker := reference.NewTracker(func(schema.GroupVersionKind) bool {
			tried++
			return installed
		})
		s.look(t, tracker, "first", request{Reference: s.ref("a", nil)})
		before := tried
		s.look(t, tracker, "selecting", request{Selector: s.sel(nil)})
		if before == 0 || tried == before {
			t.Errorf("tried %d times by the first and %d times in all", before, tried)
		}
		installed, tried = true, 0
		for _, name := range []string{"first", "second"} {
			s.look(t, tracker, name, request{Reference: s.ref("a", nil)})
		}
		if tried != 1 {
			t.Errorf("tried %d times once it can be watched", tried)
		}
	})
}

func TestDependents(t *testing.T) {
	t.Parallel()
	s := newStage(t, network("a"))
	var kinds []schema.GroupVersionKind
	tracker := reference.NewTracker(func(kind schema.GroupVersionKind) bool {
		kinds = append(kinds, kind)
		return true
	})
	of := func(name string) string {
		return names(tracker.Dependents(networkKind, types.NamespacedName{Name: s.p + name}))
	}
	want := func(when, a, b string) {
		t.Helper()
		if of("a") != a || of("b") != b {
			t.Errorf("%s: %q depend on a and %q on b, want %q and %q", when, of("a"), of("b"), a, b)
		}
	}
	s.look(t, tracker, "kept", request{CurrentValue: "ext-a", Reference: s.ref("a", nil)})
	want("values that are kept (R173)", "kept", "")
	if len(kinds) != 0 {
		t.Errorf("nothing waits for %v", kinds)
	}
	s.look(t, tracker, "chosen", request{Selector: s.sel(nil)})
	s.look(t, tracker, "missing", request{Reference: s.ref("b", nil)})
	want("choices count (R165)", "chosen kept", "missing")
	if diff := cmp.Diff([]schema.GroupVersionKind{networkKind}, kinds); diff != "" {
		t.Errorf("kinds to watch, once: -want +got:\n%s", diff)
	}

	s.look(t, tracker, "kept", request{Reference: s.ref("b", nil)})
	want("another reference (R168)", "chosen", "kept missing")
	early := tracker.Recorder(dependent("kept"), s.Client)
	early.Done(errors.New("not come to the reference"))
	want("a resolution that ended early (R173)", "chosen", "kept missing")
	tracker.Forget(dependent("missing"))
	s.look(t, tracker, "kept")
	s.look(t, tracker, "chosen")
	want("gone (R173)", "", "")
	if got := names(tracker.Handle(networkKind, nil, s.target("b"))); got != "" {
		t.Errorf("a forgotten object is enqueued: %q (R161)", got)
	}
}

// Readers other than the resolver are tracked too, whatever type they read into.
func TestRecorder(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	tracker := reference.NewTracker(nil)
	recorder := tracker.Recorder(dependent("d"), s.Client)
	one, many := &unstructured.Unstructured{}, &unstructured.UnstructuredList{}
	one.SetGroupVersionKind(networkKind)
	many.SetGroupVersionKind(group.WithKind("RoomList"))
	key := client.ObjectKey{Namespace: "ignored", Name: s.p + "b"}
	if err := recorder.Get(t.Context(), key, one); client.IgnoreNotFound(err) != nil || err == nil {
		t.Fatalf("the answer of the client is passed on: got %v, want not found", err)
	}
	if err := recorder.List(t.Context(), many, client.InNamespace(s.Namespace)); err != nil {
		t.Fatal(err)
	}
	if err := recorder.List(t.Context(), &metav1.PartialObjectMetadataList{}); err == nil {
		t.Error("an object without a kind cannot be tracked, and must not be read")
	}
	recorder.Done(nil)
	for name, tc := range map[string]struct {
		kind schema.GroupVersionKind
		o    client.Object
		want string
	}{
		"target (R161)":                        {networkKind, s.target("b"), "d"},
		"target in another version (R161)":     {group.WithKind("Network").GroupKind().WithVersion("v2"), s.target("b"), "d"},
		"selected in the namespace (R172)":     {roomKind, room(s.Namespace, "any", "x"), "d"},
		"not selected in another (R172)":       {roomKind, room("elsewhere", "any", "x"), ""},
		"another object of a read kind (R161)": {networkKind, s.target("z"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(tracker.Handle(tc.kind, nil, tc.o)); got != tc.want {
				t.Errorf("wakes %q, want %q", got, tc.want)
			}
		})
	}
}

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
