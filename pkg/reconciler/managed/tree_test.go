// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

func TestRedo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ before, after, in, want tree }{
		"what was set (R30, R197)": {after: tree{"a": "1", "b": tree{"c": "2"}}, want: tree{"a": "1", "b": tree{"c": "2"}}},
		"what others set stays (R30, R197)": {before: tree{"b": tree{"c": "1", "d": "1"}}, after: tree{"b": tree{"c": "2", "d": "1"}},
			in: tree{"a": "theirs", "b": tree{"c": "1", "d": "theirs"}}, want: tree{"a": "theirs", "b": tree{"c": "2", "d": "theirs"}}},
		"what was removed (R30, R197)": {before: tree{"a": "1", "b": "1"}, after: tree{"b": "1"},
			in: tree{"a": "1", "b": "1"}, want: tree{"b": "1"}},
		"a list, as a whole (R30, R197)": {before: tree{"a": []any{"1"}}, after: tree{"a": []any{"2"}},
			in: tree{"a": []any{"1", "3"}}, want: tree{"a": []any{"2"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, redo(tc.before, tc.after, tc.in)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// An object without a Go type has the sections that its schema asks for, which may be none.
func TestFillSpec(t *testing.T) {
	t.Parallel()
	chosen, zone := tree{"zone": "north"}, []string{"zone"}
	empty := func() resource.Managed {
		return unstructured.New(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Loose"})
	}
	for name, tc := range map[string]struct {
		spec   any
		chosen tree
		want   any
		fields []string
	}{
		"no spec (R150)":                         {nil, chosen, tree{"forProvider": chosen}, zone},
		"no parameters (R150)":                   {tree{"other": "x"}, chosen, tree{"other": "x", "forProvider": chosen}, zone},
		"null for parameters (R150)":             {tree{"forProvider": nil}, chosen, tree{"forProvider": chosen}, zone},
		"no spec, and nothing (R149, N13)":       {},
		"no parameters, and nothing (R149, N13)": {tree{"other": "x"}, tree{}, tree{"other": "x"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			mg := empty().(*unstructured.Managed)
			put(mg.Object, "spec", tc.spec)
			p, err := (&Reconciler{newManaged: empty, now: time.Now}).newPass(mg, &record{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.chosen = tc.chosen
			fields, err := p.fillSpec()
			if err != nil {
				t.Fatal(err)
			}
			now, err := treeOf(p.managed)
			if err != nil {
				t.Fatal(err)
			}
			want, got := []any{tc.fields, tc.want, tc.want}, []any{fields, p.spec(), now["spec"]}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("fields, spec to be stored and spec in memory -want +got:\n%s", diff)
			}
		})
	}
}

// A type may be whatever satisfies resource.Managed.
func TestWrongType(t *testing.T) {
	t.Parallel()
	type special interface {
		resource.Managed
		Special()
	}
	_, ofInterface := callWith[special, any](t.Context(), &unstructured.Managed{}, nil)
	_, ofPointer := callWith[*statusOnly, any](t.Context(), &unstructured.Managed{}, nil)
	for want, err := range map[string]error{
		"managed resource is not a special":    ofInterface,
		"managed resource is not a statusOnly": ofPointer,
	} {
		t.Run(want+" (R29)", func(t *testing.T) {
			if err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
		})
	}
}
