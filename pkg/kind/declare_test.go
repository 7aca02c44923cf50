// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

func TestInitialParameters(t *testing.T) {
	t.Parallel()
	initial := widgetParameters{Region: ptr.To("east"), Size: ptr.To(int64(3)), Script: ptr.To("s")}
	merged, fixed := vendorWidget{Region: "east", Size: 3, Tier: "gold"}, vendorWidget{Region: "east", Tier: "gold"}
	cases := map[string]struct {
		reason string
		verb   string
		want   vendorWidget
	}{
		"get (R138)":    {"Fields of initProvider may address the resource.", "get", merged},
		"find (R138)":   {"They may address what an interrupted create left behind.", "find", merged},
		"update (R138)": {"Mutable fields of initProvider count at creation only.", "update", fixed},
		"delete (R138)": {"Mutable fields of initProvider count at creation only.", "delete", fixed},
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
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
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
		reason         string
		desired        *placedNetwork
		update, delete *placedNetwork
	}{
		"left out (R138)":  {reason: "The mode that the creation set stays.", update: nil, delete: &fixed},
		"desired (R138)":   {reason: "It is sent, and whole.", desired: &placedNetwork{Mode: ptr.To("m")}, update: &whole, delete: &whole},
		"all there (R142)": {reason: "forProvider wins.", desired: &whole, update: &whole, delete: &whole},
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
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
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
