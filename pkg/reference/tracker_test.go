// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
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
		"R167 created":                      {after: s.target("b"), want: "waiting"},
		"R167 gone":                         {before: s.target("b"), want: "waiting"},
		"N36 creation completed":            {s.target("c", pending), s.target("c", pending, created, version("2")), "waiting"},
		"R161 only another version":         {s.target("c"), s.target("c", version("2")), ""},
		"R168 followed, and waited on":      {s.target("a"), s.target("a", version("2")), "following reading"},
		"R168 what is resolved is kept":     {s.target("a"), s.target("a", unnamed), "following reading"},
		"R161 nothing changed":              {s.target("a"), s.target("a"), ""},
		"R169 being deleted":                {s.target("c"), s.target("c", func(n *Network) { n.DeletionTimestamp = &now }), "waiting"},
		"R162 R168 created with the labels": {after: s.target("d", chosen), want: "anew selecting"},
		"R162 got the labels":               {s.target("d"), s.target("d", chosen), "anew selecting"},
		"R162 R168 lost the labels":         {s.target("d", chosen), s.target("d"), "anew selecting"},
		"R163 got a controller":             {s.target("d", chosen), s.target("d", chosen, owned("x")), "anew selecting"},
		"R162 other labels":                 {after: s.target("d"), want: ""},
		"R162 status of a match":            {s.target("d", chosen), s.target("d", chosen, version("2")), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := names(tracker.Handle(networkKind, tc.before, tc.after)); got != tc.want {
				t.Errorf("wakes %q, want %q", got, tc.want)
			}
		})
	}
	t.Run("R161 an object of another kind", func(t *testing.T) {
		if got := names(tracker.Handle(roomKind, nil, s.target("b"))); got != "" {
			t.Errorf("wakes %q", got)
		}
	})
	t.Run("R167 those who wait for a kind", func(t *testing.T) {
		if got := names(tracker.Waiting(networkKind)); got != "anew following reading selecting waiting" {
			t.Errorf("%q wait for Networks", got)
		}
		if got := names(tracker.Waiting(roomKind)); got != "" {
			t.Errorf("%q wait for Rooms", got)
		}
	})
}

// A kind that cannot be watched yet is tried again by whoever looks next, until it can.
func TestKindThatCannotBeWatchedYet(t *testing.T) {
	t.Parallel()
	t.Run("R167 tried before each read", func(t *testing.T) {
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
	want("R173 values that are kept", "kept", "")
	if len(kinds) != 0 {
		t.Errorf("nobody waits for %v", kinds)
	}
	s.look(t, tracker, "chosen", request{Selector: s.sel(nil)})
	s.look(t, tracker, "missing", request{Reference: s.ref("b", nil)})
	want("R165 choices count", "chosen kept", "missing")
	if diff := cmp.Diff([]schema.GroupVersionKind{networkKind}, kinds); diff != "" {
		t.Errorf("kinds to watch, once: -want +got:\n%s", diff)
	}

	s.look(t, tracker, "kept", request{Reference: s.ref("b", nil)})
	want("R168 another reference", "chosen", "kept missing")
	early := tracker.Recorder(dependent("kept"), s.Client)
	early.Done(errors.New("not come to the reference"))
	want("R173 a resolution that ended early", "chosen", "kept missing")
	tracker.Forget(dependent("missing"))
	s.look(t, tracker, "kept")
	s.look(t, tracker, "chosen")
	want("R173 gone", "", "")
	if got := names(tracker.Handle(networkKind, nil, s.target("b"))); got != "" {
		t.Errorf("R161 who is forgotten is woken: %q", got)
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
		"R161 target":                        {networkKind, s.target("b"), "d"},
		"R161 target in another version":     {group.WithKind("Network").GroupKind().WithVersion("v2"), s.target("b"), "d"},
		"R172 selected in the namespace":     {roomKind, room(s.Namespace, "any", "x"), "d"},
		"R172 not selected in another":       {roomKind, room("elsewhere", "any", "x"), ""},
		"R161 another object of a read kind": {networkKind, s.target("z"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(tracker.Handle(tc.kind, nil, tc.o)); got != tc.want {
				t.Errorf("wakes %q, want %q", got, tc.want)
			}
		})
	}
}

// A watch on the referenced kind, begun by the first who waits, wakes the dependent as soon as its target can be used.
func TestWake(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	woken := make(chan time.Time, 100)
	var tracker *reference.Tracker
	tracker = reference.NewTracker(func(kind schema.GroupVersionKind) bool {
		w, err := s.Client.Watch(t.Context(), &NetworkList{})
		if err != nil {
			t.Error(err)
			return false
		}
		t.Cleanup(w.Stop)
		go func() {
			known := map[string]client.Object{}
			for e := range w.ResultChan() {
				after, ok := e.Object.(client.Object)
				if !ok {
					continue
				}
				before := known[after.GetName()]
				known[after.GetName()] = after
				if len(tracker.Handle(kind, before, after)) > 0 {
					woken <- time.Now()
				}
			}
		}()
		return true
	})
	s.look(t, tracker, "waiting", reference.ResolutionRequest{Reference: s.ref("a", nil)})
	n := network("a", unnamed)(s.p).(*Network)
	s.add(t, n)
	<-woken
	s.look(t, tracker, "waiting", reference.ResolutionRequest{Reference: s.ref("a", nil)})
	named := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+meta.AnnotationKeyExternalName+`":"net"}}}`))
	began := time.Now()
	if err := s.Client.Patch(t.Context(), n.DeepCopyObject().(client.Object), named); err != nil {
		t.Fatal(err)
	}
	if took := (<-woken).Sub(began); took > time.Second {
		t.Errorf("R167 the dependent was woken after %s, want less than a second", took)
	}
}
