// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/bowline-dev/bowline/apis/common/v1"
)

type jsonCase struct {
	value any
	json  string
}

// The fields that authors write in Go, and the JSON that users write for them.
func TestAPI(t *testing.T) {
	t.Parallel()
	then := metav1.NewTime(time.Date(2023, 12, 18, 22, 48, 6, 0, time.UTC))
	wantJSON(t, map[string]jsonCase{
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
		"ResourceSpec of nothing (A1)":     {v1.ResourceSpec{}, `{}`},
		"empty policies stay empty (R106)": {v1.ResourceSpec{ManagementPolicies: v1.ManagementPolicies{}}, `{"managementPolicies":[]}`},
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
		"RecreatePolicy (N38)": {[]v1.RecreatePolicy{v1.RecreateOnRequest, v1.RecreateAlways}, `["OnRequest","Always"]`},
		"ReclaimPolicy (A14)":  {[]v1.ReclaimPolicy{v1.ReclaimDelete, v1.ReclaimRetain}, `["Delete","Retain"]`},
	})
}

// What claims and classes have in common.
func TestClaimAPI(t *testing.T) {
	t.Parallel()
	then := metav1.NewTime(time.Date(2023, 12, 18, 22, 48, 6, 0, time.UTC))
	wantJSON(t, map[string]jsonCase{
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
	})
}

func wantJSON(t *testing.T, cases map[string]jsonCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tc.value)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, []byte(tc.json)), decode(t, got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
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

func TestManagementPolicies(t *testing.T) {
	all := []v1.ManagementAction{"Create", "Delete", "LateInitialize", "Observe", "Update"}
	cases := map[string]struct {
		policies v1.ManagementPolicies
		allowed  []v1.ManagementAction
		empty    bool
	}{
		"absent is everything (R109, R118)": {policies: nil, allowed: all},
		"empty is nothing (R118, R104)":     {policies: v1.ManagementPolicies{}, empty: true},
		"the star is everything (R117)":     {policies: v1.ManagementPolicies{"*"}, allowed: all},
		"the star beside others (R117)":     {policies: v1.ManagementPolicies{"Observe", "*"}, allowed: all},
		"order and repetitions (R117)": {
			policies: v1.ManagementPolicies{"Observe", "Create", "Observe"}, allowed: []v1.ManagementAction{"Create", "Observe"}},
		"one action alone is allowed (R113)": {policies: v1.ManagementPolicies{"Observe"}, allowed: []v1.ManagementAction{"Observe"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var allowed []v1.ManagementAction
			for _, a := range all {
				if tc.policies.Allow(a) {
					allowed = append(allowed, a)
				}
			}
			if diff := cmp.Diff(tc.allowed, allowed); diff != "" || tc.policies.Empty() != tc.empty {
				t.Errorf("empty %t, allowed -want +got:\n%s", tc.policies.Empty(), diff)
			}
		})
	}
}

// BucketParameters are the settings of a bucket.
type BucketParameters struct {
	Region string `json:"region"`
}

// BucketSpec is the spec of a managed kind.
type BucketSpec struct {
	v1.ResourceSpec `json:",inline"`
	ForProvider     BucketParameters `json:"forProvider"`
}

// What users of a kind write: the kind's own settings, and what every kind has.
func Example() {
	spec := BucketSpec{
		ResourceSpec: v1.ResourceSpec{
			ProviderConfigReference: &v1.ProviderConfigReference{Name: "team"},
			DeletionPolicy:          v1.DeletionOrphan,
		},
		ForProvider: BucketParameters{Region: "north"},
	}
	text, err := json.Marshal(spec)
	fmt.Println(string(text), err)
	// Output: {"providerConfigRef":{"name":"team"},"deletionPolicy":"Orphan","forProvider":{"region":"north"}} <nil>
}
