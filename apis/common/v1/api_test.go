// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// The fields that authors write in Go, and the JSON that users write for them.
func TestAPI(t *testing.T) {
	t.Parallel()
	then := metav1.NewTime(time.Date(2023, 12, 18, 22, 48, 6, 0, time.UTC))
	for name, tc := range map[string]struct {
		value any
		json  string
	}{
		"ResourceSpec (A1, A6, R108)": {
			v1.ResourceSpec{
				ManagementPolicies:               v1.ManagementPolicies{v1.ManagementActionAll},
				ProviderConfigReference:          &v1.ProviderConfigReference{Name: "team"},
				WriteConnectionSecretToReference: &v1.SecretReference{Namespace: "shop", Name: "connection"},
				DeletionPolicy:                   v1.DeletionDelete,
				ReclaimPolicy:                    v1.ReclaimDelete,
				ClaimReference:                   &corev1.ObjectReference{Name: "orders"},
				ClassReference:                   &corev1.ObjectReference{Name: "gold"},
			},
			`{"managementPolicies":["*"],"providerConfigRef":{"name":"team"},
			"writeConnectionSecretToRef":{"name":"connection","namespace":"shop"},"deletionPolicy":"Delete","reclaimPolicy":"Delete",
			"claimRef":{"name":"orders"},"classRef":{"name":"gold"}}`,
		},
		"ResourceSpec of nothing (A1)": {v1.ResourceSpec{}, `{}`},
		"ResourceStatus (A1)": {
			v1.ResourceStatus{
				ConditionedStatus: v1.ConditionedStatus{Conditions: []v1.Condition{
					{Type: v1.TypeReady, Status: corev1.ConditionTrue, LastTransitionTime: then, Reason: v1.ReasonAvailable}}},
				BindingPhase: v1.BindingPhaseUnbound,
			},
			`{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2023-12-18T22:48:06Z","reason":"Available"}],
			"bindingPhase":"Unbound"}`,
		},
		"ProviderSpec (A1)": {
			v1.ProviderSpec{Credentials: v1.ProviderCredentials{Source: v1.CredentialsSourceSecret,
				SecretRef: &v1.SecretKeySelector{Name: "account", Namespace: "system", Key: "token"}}},
			`{"credentials":{"source":"Secret","secretRef":{"name":"account","namespace":"system","key":"token"}}}`,
		},
		"SecretReference (A4)": {v1.SecretReference{Namespace: "shop", Name: "connection"}, `{"name":"connection","namespace":"shop"}`},
		"SecretKeySelector (A5)": {
			v1.SecretKeySelector{Name: "passwords", Namespace: "shop", Key: "orders"}, `{"name":"passwords","namespace":"shop","key":"orders"}`},
		"LocalSecretKeySelector (A5, N2)": {v1.LocalSecretKeySelector{Name: "passwords", Key: "orders"}, `{"name":"passwords","key":"orders"}`},
		"Condition (A10)": {
			v1.Condition{Type: "Synced", Status: "False", LastTransitionTime: then, Reason: "ReconcileError", Message: "boom"},
			`{"type":"Synced","status":"False","lastTransitionTime":"2023-12-18T22:48:06Z","reason":"ReconcileError","message":"boom"}`,
		},
		"ManagementPolicies (A12, R108)": {
			v1.ManagementPolicies{v1.ManagementActionAll, v1.ManagementActionCreate, v1.ManagementActionDelete,
				v1.ManagementActionLateInitialize, v1.ManagementActionObserve, v1.ManagementActionUpdate},
			`["*","Create","Delete","LateInitialize","Observe","Update"]`,
		},
		"Reference (A13)": {v1.Reference{Name: "net"}, `{"name":"net"}`},
		"Selector (A13)": {
			v1.Selector{MatchLabels: map[string]string{"tier": "gold"}, MatchControllerRef: new(true)},
			`{"matchLabels":{"tier":"gold"},"matchControllerRef":true}`,
		},
		"DeletionPolicy (A14)": {[]v1.DeletionPolicy{v1.DeletionDelete, v1.DeletionOrphan}, `["Delete","Orphan"]`},
		"ReclaimPolicy (A14)":  {[]v1.ReclaimPolicy{v1.ReclaimDelete, v1.ReclaimRetain}, `["Delete","Retain"]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantJSON(t, tc.value, tc.json)
		})
	}
}

// wantJSON wants a value to be written as JSON says.
func wantJSON(t *testing.T, value any, want string) {
	t.Helper()
	got, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(decode(t, []byte(want)), decode(t, got)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func decode(t *testing.T, data []byte) (v any) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

func TestConnectionKeys(t *testing.T) {
	t.Parallel()
	t.Run("the usual keys (A9, R211)", func(t *testing.T) {
		got := []string{
			v1.ResourceCredentialsSecretUserKey, v1.ResourceCredentialsSecretPasswordKey,
			v1.ResourceCredentialsSecretEndpointKey, v1.ResourceCredentialsSecretPortKey,
		}
		if diff := cmp.Diff([]string{"username", "password", "endpoint", "port"}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}
