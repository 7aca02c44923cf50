// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
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
		t.Errorf("a resource without any has connection details %v", texts(seen.ConnectionDetails))
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

func TestTakenOverFromNamespace(t *testing.T) {
	t.Parallel()
	w := newWidget(nil)
	v := &vendor{have: &vendorWidget{ID: "w-1", Status: "READY", Labels: map[string]string{
		meta.ExternalLabelUID: "another", meta.ExternalLabelNamespace: "team", "cost": "7"}}}
	c := connect(t, widgets(), v, w)
	o, err := c.Observe(t.Context(), w)
	if err != nil || o.OwnerNamespace != "team" || *o.Owner != "another" {
		t.Fatalf("%+v, error %v", o, err)
	}
	if _, err := c.Update(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ours("cost", "7"), v.request.Labels); diff != "" {
		t.Errorf("the namespace could take it back (N48), -want +got:\n%s", diff)
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
		t.Errorf("labels that the kind returns are not found where the parameters have them: %v (P15)", seen.Drift)
	}
}

// sized has a setting with a default.
type sized struct {
	Size *int64 `json:"size,omitempty"`
}

func (*sized) FieldRules() parameters.Rules {
	return parameters.Rules{Defaults: map[string]string{"size": "-1"}}
}

// A default stands for nothing. Where the vendor's client distinguishes zero from nothing, it does not hide a zero that others set.
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

func TestInitialParameters(t *testing.T) {
	t.Parallel()
	initial := widgetParameters{Region: ptr.To("east"), Size: ptr.To(int64(3)), Script: ptr.To("s")}
	merged, fixed := vendorWidget{Region: "east", Size: 3, Tier: "gold"}, vendorWidget{Region: "east", Tier: "gold"}
	cases := map[string]struct {
		verb string
		want vendorWidget
	}{
		"get (R138)":    {"get", merged},
		"find (R138)":   {"find", merged},
		"update (R138)": {"update", fixed},
		"delete (R138)": {"delete", fixed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var v vendor
			k := widgets()
			found := func(_ context.Context, v *vendor, r *widgetRequest) (*vendorWidget, error) {
				return &vendorWidget{Status: "READY", Region: "east", Size: 5, Tier: "gold"}, v.call("get", r)
			}
			k.Get, k.Find = found, found
			w := newWidget(func(w *widget) { w.parameters, w.initial = widgetParameters{Tier: ptr.To("gold")}, initial })
			c := connect(t, k, &v, w)
			if err := verbs()[tc.verb](t, c, w); err != nil {
				t.Fatal(err)
			}
			if tc.verb == "get" {
				o, err := c.Observe(t.Context(), w)
				drift := slices.DeleteFunc(o.Drift, func(d parameters.Difference) bool { return strings.HasPrefix(d.Path, "labels") })
				if err != nil || len(drift) > 0 {
					t.Errorf("fields of initProvider are enforced: %v, %v (R143)", drift, err)
				}
			}
			got := v.request.Want
			got.Labels = nil
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(widgetParameters{Tier: ptr.To("gold")}, w.parameters); diff != "" {
				t.Errorf("the object itself does not take initProvider over, nor what the vendor has of it (R146): -want +got:\n%s", diff)
			}
		})
	}
}

// A placed kind has a setting that cannot change within one that can.
type placed struct {
	Network *placedNetwork `json:"network,omitempty"`
}

type placedNetwork struct {
	ID   *string `json:"id,omitempty"`
	Mode *string `json:"mode,omitempty"`
}

func (*placed) FieldRules() parameters.Rules {
	return parameters.Rules{Immutable: []string{"network.id"}}
}

// To send a part of a struct may erase the rest of it.
func TestInitialPartOfStruct(t *testing.T) {
	t.Parallel()
	type vendors struct{ Network struct{ ID, Mode string } }
	type request = kind.Request[placed, vendors]
	whole, fixed := placedNetwork{ID: ptr.To("n"), Mode: ptr.To("m")}, placedNetwork{ID: ptr.To("n")}
	for name, tc := range map[string]struct {
		desired        *placedNetwork
		update, delete *placedNetwork
	}{
		"left out (R138)": {update: nil, delete: &fixed},
		"desired (R138)":  {desired: &placedNetwork{Mode: ptr.To("m")}, update: &whole, delete: &whole},
		"both (R142)":     {desired: &whole, update: &whole, delete: &whole},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := map[string]*placedNetwork{}
			k := kindOf[placed, nothing, vendors]()
			k.Update = func(_ context.Context, _ *vendor, r *request) error { got["update"] = r.Parameters.Network; return nil }
			k.Delete = func(_ context.Context, _ *vendor, r *request) error { got["delete"] = r.Parameters.Network; return nil }
			o := &initialized{placed{Network: &placedNetwork{ID: ptr.To("n"), Mode: ptr.To("old")}}, object[placed, nothing]{
				widget: *newWidget(nil), parameters: placed{Network: tc.desired},
			}}
			c := connectTo(t, system(), k, &vendor{}, o)
			_, updated := c.Update(t.Context(), o)
			if err := errors.Join(updated, c.Delete(t.Context(), o)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]*placedNetwork{"update": tc.update, "delete": tc.delete}, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// An initialized object has spec.initProvider.
type initialized struct {
	initial placed
	object[placed, nothing]
}

func (o *initialized) InitParameters() any { return &o.initial }

func (o *initialized) DeepCopyObject() runtime.Object {
	return &initialized{o.initial, *o.object.DeepCopyObject().(*object[placed, nothing])}
}

// A createInput and an updateInput are what a vendor accepts, whose answers have another type.
type createInput struct {
	Name, Comment string
	Size          int8
	Tags          map[string]string
}

type updateInput struct{ Size *int8 }

func inputs(change func(*kind.Kind[*vendor, noted, nothing, nothing])) kind.Kind[*vendor, noted, nothing, nothing] {
	k := kindOf[noted, nothing, nothing]()
	k.Inputs = []any{createInput{}, updateInput{}}
	k.Declared = func(*nothing) noted { return noted{} }
	k.Labels = func(*nothing) map[string]string { return nil }
	change(&k)
	return k
}

func call(t *testing.T, k kind.Kind[*vendor, noted, nothing, nothing], size int) (created, updated error) {
	t.Helper()
	o := &object[noted, nothing]{widget: *newWidget(nil), parameters: noted{Size: ptr.To(size)}}
	c := connectTo(t, system(), k, &vendor{}, o)
	_, created = c.Create(t.Context(), o)
	_, updated = c.Update(t.Context(), o)
	return created, updated
}

func TestInput(t *testing.T) {
	t.Parallel()
	var create createInput
	var update updateInput
	k := inputs(func(k *kind.Kind[*vendor, noted, nothing, nothing]) {
		k.Create = func(_ context.Context, _ *vendor, r *kind.Request[noted, nothing]) (*nothing, error) {
			create = kind.Input[createInput](r)
			return &nothing{}, nil
		}
		k.Update = func(_ context.Context, _ *vendor, r *kind.Request[noted, nothing]) error {
			update = kind.Input[updateInput](r)
			return nil
		}
	})
	if created, updated := call(t, k, 3); created != nil || updated != nil {
		t.Fatal(created, updated)
	}
	if diff := cmp.Diff(createInput{Name: "w-1", Size: 3, Tags: ours()}, create); diff != "" {
		t.Errorf("Create is given other than parameters, name and labels: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(updateInput{Size: ptr.To(int8(3))}, update); diff != "" {
		t.Errorf("Update is given other than the parameters -want +got:\n%s", diff)
	}
}

func TestInputThatDoesNotFit(t *testing.T) {
	t.Parallel()
	calls := 0
	k := inputs(func(k *kind.Kind[*vendor, noted, nothing, nothing]) {
		k.Create = func(context.Context, *vendor, *kind.Request[noted, nothing]) (*nothing, error) {
			calls++
			return nil, nil
		}
		k.Update = func(context.Context, *vendor, *kind.Request[noted, nothing]) error { calls++; return nil }
	})
	created, updated := call(t, k, 300)
	for _, err := range []error{created, updated} {
		if want := "field Size: 300 is out of the range of int8"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	if calls > 0 {
		t.Errorf("the vendor was asked %d times for what does not fit", calls)
	}
}

func TestUnannouncedInput(t *testing.T) {
	t.Parallel()
	defer func() {
		if cause := recover(); cause == nil || !strings.Contains(cause.(string), "kind_test.createInput is not in Kind.Inputs") {
			t.Errorf("an input that no check has seen is %v", cause)
		}
	}()
	kind.Input[createInput](&kind.Request[noted, nothing]{})
}
