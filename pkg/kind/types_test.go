// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// An object is a widget with parameters and an observation of other types.
type object[P, O any] struct {
	widget
	parameters  P
	observation O
}

func (o *object[P, O]) Parameters() *P  { return &o.parameters }
func (o *object[P, O]) Observation() *O { return &o.observation }

func (o *object[P, O]) DeepCopyObject() runtime.Object {
	return &object[P, O]{widget: o.widget.copy(), parameters: o.parameters, observation: o.observation}
}

// observeAndUpdate observes and updates an external resource of any type.
func observeAndUpdate[P, O, V any](t *testing.T, have V, p P, change func(*kind.Kind[*vendor, P, O, V])) (
	*object[P, O], managed.ExternalObservation, *kind.Request[P, V]) {
	t.Helper()
	var request *kind.Request[P, V]
	k := kindOf[P, O, V]()
	k.Get = func(_ context.Context, _ *vendor, r *kind.Request[P, V]) (*V, error) {
		request = r
		return &have, nil
	}
	k.Update = func(_ context.Context, _ *vendor, r *kind.Request[P, V]) error { request = r; return nil }
	if change != nil {
		change(&k)
	}
	o := &object[P, O]{widget: *newWidget(nil), parameters: p}
	c := connectTo(t, system(), k, &vendor{}, o)
	seen, err := c.Observe(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o, seen, request
}

type nothing struct{}

func TestPointersAndNamedTypes(t *testing.T) {
	t.Parallel()
	type status string
	type named struct {
		Name   *string
		Status *status
		Tags   labelMap
	}
	have := named{Status: ptr.To(status("GOING"))}
	o, _, r := observeAndUpdate(t, have, nothing{}, func(k *kind.Kind[*vendor, nothing, nothing, named]) {
		k.States = map[string]kind.State{"GOING": kind.Deleting}
		k.Labels = func(*named) map[string]string { return nil }
	})
	if got := o.GetCondition(xpv1.TypeReady).Reason; got != xpv1.ReasonDeleting {
		t.Errorf("the state in a pointer to a named type is read as %q", got)
	}
	if ptr.Deref(r.Want.Name, "") != "w-1" || r.Want.Tags["crossplane-name"] != "w" {
		t.Errorf("the vendor is to be sent %v, %v", r.Want.Name, r.Want.Tags)
	}
}

type endpoint struct {
	Address *string `connection:"endpoint"`
	Port    int     `connection:"port"`
	TLS     *bool   `connection:"tls"`
	Next    *endpoint
}

func TestConnectionTags(t *testing.T) {
	t.Parallel()
	type database struct {
		*endpoint
		Replica struct {
			User string `connection:"user"`
		}
	}
	have := database{endpoint: &endpoint{Address: ptr.To("there"), TLS: ptr.To(false)}}
	have.Replica.User = "reader"
	_, seen, _ := observeAndUpdate[nothing, nothing](t, have, nothing{}, nil)
	want := map[string]string{"endpoint": "there", "tls": "false", "user": "reader"}
	if diff := cmp.Diff(want, texts(seen.ConnectionDetails)); diff != "" {
		t.Errorf("connection details in structs and behind pointers (-want +got):\n%s", diff)
	}
	if _, seen, _ := observeAndUpdate[nothing, nothing](t, database{}, nothing{}, nil); len(seen.ConnectionDetails) > 0 {
		t.Errorf("a resource that says nothing has connection details %v", texts(seen.ConnectionDetails))
	}
}

type noted struct {
	Note map[string]string `json:"note,omitempty"`
	Size *int              `json:"size,omitempty"`
}

func (*noted) FieldRules() parameters.Rules { return parameters.Rules{Immutable: []string{"note"}} }

func TestManyChanges(t *testing.T) {
	t.Parallel()
	type vendors struct {
		Note map[string]string
		Size int
	}
	p, have := noted{Note: map[string]string{}}, vendors{}
	for i := range 40 {
		p.Note[fmt.Sprint("k", i)] = "a"
	}
	_, seen, r := observeAndUpdate[noted, nothing](t, have, p, nil)
	if len(r.Changes) != 40 || len(seen.Drift) != 33 {
		t.Errorf("the request has %d changes of 40, the status %d", len(r.Changes), len(seen.Drift))
	}
	if !seen.ResourceUpToDate || seen.Failed == nil || strings.Contains(seen.Failed.Error(), "and 8 more is") {
		t.Errorf("fields that cannot change ask for an update, or how many they are is read as a field: %v", seen.Failed)
	}
	p.Size = ptr.To(1)
	if _, seen, _ = observeAndUpdate[noted, nothing](t, have, p, nil); seen.ResourceUpToDate {
		t.Error("a field that can change is not updated, since it comes after many that cannot")
	}
}

func TestAdoptedWithoutUpdate(t *testing.T) {
	t.Parallel()
	k := widgets()
	k.Update = nil
	w := newWidget(func(w *widget) { w.parameters.Labels = map[string]string{"team": "a"} })
	o, err := connect(t, k, &vendor{have: &vendorWidget{ID: "w-1", Status: "READY", Labels: map[string]string{"team": "a"}}}, w).Observe(t.Context(), w)
	if diff := cmp.Diff([]parameters.Difference(nil), o.Drift); diff != "" || err != nil || o.Failed != nil {
		t.Errorf("no call puts our labels there, so they are not missing; errors %v, %v, -want +got:\n%s", err, o.Failed, diff)
	}
}

// A counted number counts how often it is read.
type counted struct{ reads *atomic.Int64 }

func (c counted) MarshalJSON() ([]byte, error) { c.reads.Add(1); return []byte("1"), nil }
func (counted) UnmarshalJSON([]byte) error     { return nil }

func TestTreesAreMadeOnce(t *testing.T) {
	t.Parallel()
	type settings struct {
		Size *counted `json:"size,omitempty"`
		Note *string  `json:"note,omitempty"`
	}
	type vendors struct{ Note string }
	var ours, theirs atomic.Int64
	k := kindOf[settings, nothing, vendors]()
	k.Declared = func(*vendors) settings { return settings{Size: &counted{&theirs}, Note: ptr.To("late")} }
	k.Get = func(context.Context, *vendor, *kind.Request[settings, vendors]) (*vendors, error) {
		return &vendors{}, nil
	}
	o := &object[settings, nothing]{widget: *newWidget(nil), parameters: settings{Size: &counted{&ours}}}
	c := connectTo(t, system(), k, &vendor{}, o)
	if _, err := c.Observe(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if ptr.Deref(o.parameters.Note, "") != "late" || ours.Load() != 1 || theirs.Load() != 1 {
		t.Errorf("one look makes %d trees of the object's parameters, %d of the vendor's", ours.Load(), theirs.Load())
	}
}

func TestLabelsOfKindOnly(t *testing.T) {
	t.Parallel()
	_, seen, _ := observeAndUpdate(t, nothing{}, inlined{}, func(k *kind.Kind[*vendor, inlined, nothing, nothing]) {
		k.Labels = func(*nothing) map[string]string { return ours() }
	})
	if len(seen.Drift) > 0 {
		t.Errorf("labels that the kind tells are not found where the parameters have them: %v (P15)", seen.Drift)
	}
}

// sized has a setting with a default.
type sized struct {
	Size *int64 `json:"size,omitempty"`
}

func (*sized) FieldRules() parameters.Rules {
	return parameters.Rules{Defaults: map[string]string{"size": "-1"}}
}

// A default stands for nothing. Where the vendor's client tells zero from nothing, zero that others set is not hidden by it.
func TestZeroOfOthers(t *testing.T) {
	t.Parallel()
	type plain struct{ Size int }
	type pointed struct{ Size *int }
	cases := map[string]struct {
		declared      *int64
		value         plain
		pointer       pointed
		drift, filled [2]bool // by value, and by pointer
	}{
		"zero, and the default is declared (R137)": {declared: new(int64(-1)), pointer: pointed{new(0)}, drift: [2]bool{false, true}},
		"zero, and nothing is declared (R149)":     {pointer: pointed{new(0)}, filled: [2]bool{false, true}},
		"nothing, and the default (R143)":          {declared: new(int64(-1))},
		"nothing, and nothing (R143)":              {},
		"zero, and another value (R137)": {
			declared: new(int64(5)), pointer: pointed{new(0)}, drift: [2]bool{true, true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(i int, seen managed.ExternalObservation) {
				t.Helper()
				if drift := len(seen.Drift) > 0; drift != tc.drift[i] || seen.ResourceLateInitialized != tc.filled[i] {
					t.Errorf("drift %v, late initialized %t", seen.Drift, seen.ResourceLateInitialized)
				}
			}
			_, seen, _ := observeAndUpdate[sized, nothing](t, tc.value, sized{tc.declared}, nil)
			check(0, seen)
			_, seen, _ = observeAndUpdate[sized, nothing](t, tc.pointer, sized{tc.declared}, nil)
			check(1, seen)
		})
	}
}
