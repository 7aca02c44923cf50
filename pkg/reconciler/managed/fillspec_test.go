// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// An object without a Go type has the sections that its schema asks for, which may be none.
func TestFillSpec(t *testing.T) {
	t.Parallel()
	chosen, zone := tree{"zone": "north"}, []string{"zone"}
	for name, tc := range map[string]struct {
		spec, chosen, want any
		fields             []string
	}{
		"no spec (R150)": {chosen: chosen, want: tree{"forProvider": chosen}, fields: zone},
		"no parameters (R150)": {spec: tree{"other": "x"}, chosen: chosen,
			want: tree{"other": "x", "forProvider": chosen}, fields: zone},
		"null for parameters (R150)":             {spec: tree{"forProvider": nil}, chosen: chosen, want: tree{"forProvider": chosen}, fields: zone},
		"no spec, and nothing (R149, N13)":       {},
		"no parameters, and nothing (R149, N13)": {spec: tree{"other": "x"}, chosen: tree{}, want: tree{"other": "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			empty := func() resource.Managed {
				return unstructured.New(schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Loose"})
			}
			mg := empty().(*unstructured.Managed)
			put(mg.Object, "spec", tc.spec)
			p, err := (&Reconciler{newManaged: empty}).newPass(mg, &record{}, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.chosen, _ = tc.chosen.(tree)
			fields, err := p.fillSpec()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.fields, fields); diff != "" {
				t.Errorf("fields -want +got:\n%s", diff)
			}
			now, err := treeOf(p.managed)
			if err != nil {
				t.Fatal(err)
			}
			for what, got := range map[string]any{"to be stored": p.spec, "in memory": now["spec"]} {
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s -want +got:\n%s", what, diff)
				}
			}
		})
	}
}
