// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	claims "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/claims/v1alpha1"
	network "github.com/bowline-dev/bowline/internal/codegen/testdata/cloud/apis/network/v1alpha1"
)

// What kubectl get shows of claims and classes.
func TestTables(t *testing.T) {
	t.Parallel()
	class := template(t, network.GatewayClassGroupVersionKind, "shown", `{specTemplate: {writeConnectionSecretsToNamespace: a,
		forProvider: {}, reclaimPolicy: Retain, claims: {max: 3}}}`)
	class.SetAnnotations(map[string]string{"resourceclass.crossplane.io/is-default-class": "true"})
	claim := template(t, claims.MachineClaimGroupVersionKind, "shown", `{spec: {size: small,
		classRef: {apiVersion: a/v1, kind: B, name: gold}, resourceRef: {apiVersion: a/v1, kind: R, name: machine-1}},
		status: {bindingPhase: Bound, conditions: [{type: Ready, status: "True", reason: Available, lastTransitionTime: "2023-12-18T22:48:06Z"}]}}`)
	env := controlplanetest.New(t, class, claim)
	for name, tc := range map[string]struct {
		gv   schema.GroupVersion
		path []string
		want []any
	}{
		"a class (T22)": {network.GroupVersion, []string{"gatewayclasses", "shown"}, []any{"shown", "default", "Retain", 3.0, "true"}},
		"a claim (T22)": {claims.GroupVersion, []string{"namespaces", env.Namespace, "machineclaims", "shown"},
			[]any{"shown", "Bound", "gold", "machine-1", "True", "small"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, row(t, env, tc.gv, tc.path)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// row asks the server for the table of one object, and returns its cells but the age.
func row(t *testing.T, env *controlplanetest.Env, gv schema.GroupVersion, path []string) []any {
	t.Helper()
	config := rest.CopyConfig(env.Config)
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/apis", &gv, scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Get().Suffix(path...).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := metav1.Table{}
	if err := json.Unmarshal(text, &table); err != nil || len(table.Rows) != 1 {
		t.Fatalf("%d rows, %v", len(table.Rows), err)
	}
	cells := table.Rows[0].Cells
	return cells[:len(cells)-1]
}
