// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// What claims and classes have in common, and the JSON that people write for it.
func TestClaimAPI(t *testing.T) {
	t.Parallel()
	then := metav1.NewTime(time.Date(2023, 12, 18, 22, 48, 6, 0, time.UTC))
	for name, tc := range map[string]struct {
		value any
		json  string
	}{
		"ResourceClaimSpec (A2, K38)": {
			v1.ResourceClaimSpec{
				ClassSelector:                    &metav1.LabelSelector{MatchLabels: map[string]string{"size": "small"}},
				ClassReference:                   &corev1.ObjectReference{APIVersion: "a/v1", Kind: "ThingClass", Name: "gold"},
				ResourceReference:                &corev1.ObjectReference{APIVersion: "a/v1", Kind: "Thing", Name: "orders"},
				WriteConnectionSecretToReference: &v1.LocalSecretReference{Name: "connection"},
			},
			`{"classSelector":{"matchLabels":{"size":"small"}},"classRef":{"apiVersion":"a/v1","kind":"ThingClass","name":"gold"},
			"resourceRef":{"apiVersion":"a/v1","kind":"Thing","name":"orders"},"writeConnectionSecretToRef":{"name":"connection"}}`,
		},
		"ResourceClaimSpec of nothing (A2, K38)": {v1.ResourceClaimSpec{}, `{}`},
		"ResourceClaimStatus (A2, K39)": {
			v1.ResourceClaimStatus{
				ConditionedStatus: v1.ConditionedStatus{Conditions: []v1.Condition{
					{Type: v1.TypeReady, Status: corev1.ConditionTrue, LastTransitionTime: then, Reason: v1.ReasonAvailable}}},
				BindingPhase: v1.BindingPhaseBound,
			},
			`{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2023-12-18T22:48:06Z","reason":"Available"}],
			"bindingPhase":"Bound"}`,
		},
		"ClassSpecTemplate (A2, A6, K27, N2)": {
			v1.ClassSpecTemplate{
				WriteConnectionSecretsToNamespace: "secrets",
				ProviderConfigReference:           &v1.ProviderConfigReference{Name: "team"},
				ReclaimPolicy:                     v1.ReclaimRetain,
				Claims:                            v1.ClaimLimits{NamespaceSelector: &metav1.LabelSelector{}, Max: new(int64(3))},
			},
			`{"writeConnectionSecretsToNamespace":"secrets","providerConfigRef":{"name":"team"},"reclaimPolicy":"Retain",
			"claims":{"namespaceSelector":{},"max":3}}`,
		},
		"ClassSpecTemplate of no more than it needs (A2, K27)": {
			v1.ClassSpecTemplate{WriteConnectionSecretsToNamespace: "secrets"}, `{"writeConnectionSecretsToNamespace":"secrets"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantJSON(t, tc.value, tc.json)
		})
	}
}

func TestBindingPhase(t *testing.T) {
	t.Parallel()
	for _, phase := range []v1.BindingPhase{
		"", v1.BindingPhaseUnbindable, v1.BindingPhaseUnbound, v1.BindingPhaseBound, v1.BindingPhaseReleased,
	} {
		t.Run("the status keeps "+string(phase)+" (A3, K36, K39)", func(t *testing.T) {
			t.Parallel()
			var status v1.ResourceClaimStatus
			status.SetBindingPhase(phase)
			if status.BindingPhase != phase || status.GetBindingPhase() != phase {
				t.Errorf("got %q and %q", status.BindingPhase, status.GetBindingPhase())
			}
		})
	}
}
