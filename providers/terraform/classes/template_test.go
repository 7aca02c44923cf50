// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/providers/terraform/apis/v1alpha1"
)

// Texts of a class take what is known of the claim, and everything else stays as it is.
func TestTemplates(t *testing.T) {
	t.Parallel()
	claim := &metav1.ObjectMeta{Namespace: "shop", Name: "orders", UID: "u1"}
	for name, tc := range map[string]struct {
		forProvider string
		set         map[string]any
		want        any // nil: it is refused
	}{
		"names":       {`{"name":"$(claim.namespace)-$(claim.name)","tags":["$(claim.uid)",7,true]}`, nil, map[string]any{"name": "shop-orders", "tags": []any{"u1", int64(7), true}}},
		"dollars":     {`{"text":"$$(claim.name) costs 5$"}`, nil, map[string]any{"text": "$(claim.name) costs 5$"}},
		"a setting":   {`{"a":{"version":"$(claim.spec.engineVersion)"}}`, map[string]any{"engineVersion": "16"}, map[string]any{"a": map[string]any{"version": "16"}}},
		"left out":    {`{"version":"$(claim.spec.engineVersion)","all":["$(claim.spec.engineVersion)"]}`, nil, map[string]any{"all": []any{}}},
		"in a text":   {`{"version":"v$(claim.spec.engineVersion)"}`, map[string]any{"engineVersion": "16"}, nil},
		"unknown":     {`{"a":[{"b":"$(claim.namespce)"}]}`, nil, nil},
		"of others":   {`{"version":"$(claim.spec.clusterVersion)"}`, nil, nil},
		"two in one":  {`{"version":"$(claim.spec.engineVersion)$(claim.spec.engineVersion)"}`, map[string]any{"engineVersion": "16"}, nil},
		"no object":   {`["a"]`, nil, nil},
		"not decoded": {``, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class := &v1alpha1.TerraformClass{}
			class.SpecTemplate.ForProvider = runtime.RawExtension{Raw: []byte(tc.forProvider)}
			got, err := newTemplate(claim, "PostgreSQLInstance", tc.set).parameters(class)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if (tc.want == nil) != (failure.Of(err).Reason == failure.InvalidSettings) {
				t.Errorf("error %v", err)
			}
		})
	}
}
