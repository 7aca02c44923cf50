// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

var bucketKind = schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"}

// everything is the common part of a kind with every field set.
func everything() (xpv1.ResourceSpec, xpv1.ResourceStatus) {
	status := xpv1.ResourceStatus{
		Drift:        []xpv1.FieldDifference{{Path: "size", Desired: "2", Observed: "1"}},
		SecretInputs: []xpv1.SecretInput{{Field: "passwordSecretRef", Version: "uid:7"}},
		BindingPhase: xpv1.BindingPhaseBound,
	}
	status.SetConditions(xpv1.Available().WithObservedGeneration(3), xpv1.ReconcileError(errors.New("boom")))
	return xpv1.ResourceSpec{
		ManagementPolicies:               xpv1.ManagementPolicies{xpv1.ManagementActionObserve},
		ProviderConfigReference:          &xpv1.ProviderConfigReference{Name: "team", Kind: xpv1.ProviderConfigKind},
		WriteConnectionSecretToReference: &xpv1.SecretReference{Name: "connection", Namespace: "shop"},
		DeletionPolicy:                   xpv1.DeletionOrphan,
		ReclaimPolicy:                    xpv1.ReclaimRetain,
		ClaimReference:                   &corev1.ObjectReference{Namespace: "shop", Name: "orders"},
		ClassReference:                   &corev1.ObjectReference{Name: "gold"},
	}, status
}

// set sets every role's part of a managed resource.
func set(mg *unstructured.Managed, spec xpv1.ResourceSpec, status xpv1.ResourceStatus) {
	mg.SetManagementPolicies(spec.ManagementPolicies)
	mg.SetProviderConfigReference(spec.ProviderConfigReference)
	mg.SetWriteConnectionSecretToReference(spec.WriteConnectionSecretToReference)
	mg.SetDeletionPolicy(spec.DeletionPolicy)
	mg.SetReclaimPolicy(spec.ReclaimPolicy)
	mg.SetClaimReference(spec.ClaimReference)
	mg.SetClassReference(spec.ClassReference)
	mg.SetBindingPhase(status.BindingPhase)
	mg.SetDrift(status.Drift)
	mg.SetSecretInputs(status.SecretInputs)
	mg.SetConditions(status.Conditions...)
}

// get returns every role's part of a managed resource.
func get(mg *unstructured.Managed) (xpv1.ResourceSpec, xpv1.ResourceStatus) {
	status := xpv1.ResourceStatus{Drift: mg.GetDrift(), SecretInputs: mg.GetSecretInputs(), BindingPhase: mg.GetBindingPhase()}
	for _, ct := range []xpv1.ConditionType{xpv1.TypeReady, xpv1.TypeSynced} {
		if c := mg.GetCondition(ct); c.Reason != "" {
			status.Conditions = append(status.Conditions, c)
		}
	}
	return xpv1.ResourceSpec{
		ManagementPolicies:               mg.GetManagementPolicies(),
		ProviderConfigReference:          mg.GetProviderConfigReference(),
		WriteConnectionSecretToReference: mg.GetWriteConnectionSecretToReference(),
		DeletionPolicy:                   mg.GetDeletionPolicy(),
		ReclaimPolicy:                    mg.GetReclaimPolicy(),
		ClaimReference:                   mg.GetClaimReference(),
		ClassReference:                   mg.GetClassReference(),
	}, status
}

// content is what a kind with Go types of that spec and status has in the API.
func content(t *testing.T, spec xpv1.ResourceSpec, status xpv1.ResourceStatus) map[string]any {
	t.Helper()
	u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&struct {
		Spec   xpv1.ResourceSpec   `json:"spec"`
		Status xpv1.ResourceStatus `json:"status"`
	}{spec, status})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A kind without a Go type has in the API exactly what a kind with one has.
func TestRoles(t *testing.T) {
	t.Parallel()
	spec, status := everything()
	want := content(t, spec, status)

	mg := unstructured.New(bucketKind)
	set(mg, spec, status)
	got := map[string]any{"spec": mg.Object["spec"], "status": mg.Object["status"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("written -want +got:\n%s", diff)
	}

	mg = unstructured.New(bucketKind)
	mg.SetUnstructuredContent(want)
	gotSpec, gotStatus := get(mg)
	if diff := cmp.Diff(want, content(t, gotSpec, gotStatus)); diff != "" {
		t.Errorf("read -want +got:\n%s", diff)
	}

	set(mg, xpv1.ResourceSpec{}, xpv1.ResourceStatus{})
	delete(mg.Object["status"].(map[string]any), "conditions")
	if diff := cmp.Diff(content(t, xpv1.ResourceSpec{}, xpv1.ResourceStatus{}), mg.Object); diff != "" {
		t.Errorf("unset -want +got:\n%s", diff)
	}
	gotSpec, gotStatus = get(mg)
	if diff := cmp.Diff(xpv1.ResourceSpec{}, gotSpec); diff != "" || gotStatus.Drift != nil || gotStatus.Conditions != nil {
		t.Errorf("reading what is unset -want +got:\n%s%+v", diff, gotStatus)
	}
}

func TestManagementPolicies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		json  string
		empty bool
		may   bool // update
	}{
		"absent is everything (R106, R109)": {json: `{}`, may: true},
		"empty is a pause (R106, R104)":     {json: `{"managementPolicies":[]}`, empty: true},
		"a list (R114)":                     {json: `{"managementPolicies":["Observe","Update"]}`, may: true},
		"no list at all":                    {json: `{"managementPolicies":"Observe"}`, empty: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mg := unstructured.New(bucketKind)
			if err := json.Unmarshal([]byte(`{"apiVersion":"storage.example.org/v1","kind":"Bucket","spec":`+tc.json+`}`), mg); err != nil {
				t.Fatal(err)
			}
			policies := mg.GetManagementPolicies()
			if policies.Empty() != tc.empty || policies.Allow(xpv1.ManagementActionUpdate) != tc.may {
				t.Errorf("policies are %#v", policies)
			}
			if tc.json == `{"managementPolicies":"Observe"}` {
				return
			}
			mg.SetManagementPolicies(policies)
			stored, err := json.Marshal(mg.Object["spec"])
			if err != nil || string(stored) != tc.json {
				t.Errorf("set again they are %s, want %s: %v", stored, tc.json, err)
			}
		})
	}
}

// What no schema kept out must not lead to a deletion.
func TestMalformed(t *testing.T) {
	t.Parallel()
	for name, spec := range map[string]any{
		"deletion policy (N3, R56)":     map[string]any{"deletionPolicy": int64(1)},
		"reclaim policy (N3, R56)":      map[string]any{"reclaimPolicy": []any{"Delete"}},
		"management policies (N3, R56)": map[string]any{"managementPolicies": "Delete"},
		"no spec at all (N3, R56)":      "Delete",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mg := unstructured.New(bucketKind)
			mg.Object["spec"] = spec
			if resource.MayDeleteExternal(mg) {
				t.Error("the external resource may be deleted")
			}
		})
	}
	mg := unstructured.New(bucketKind)
	mg.Object["spec"] = "nothing"
	mg.Object["status"] = map[string]any{"conditions": "none"}
	if ref := mg.GetWriteConnectionSecretToReference(); ref != nil {
		t.Errorf("secret reference is %+v", ref)
	}
	mg.SetConditions(xpv1.Available())
	if c := mg.GetCondition(xpv1.TypeReady); c.Status != corev1.ConditionTrue {
		t.Errorf("condition is %+v", c)
	}
}

func TestCopies(t *testing.T) {
	t.Parallel()
	mg := unstructured.New(bucketKind)
	mg.SetManagementPolicies(xpv1.ManagementPolicies{})
	deep, ok := mg.DeepCopyObject().(*unstructured.Managed)
	if !ok {
		t.Fatalf("copies to %T", mg.DeepCopyObject())
	}
	content := mg.UnstructuredContent()
	shared := unstructured.Wrap(mg.GetUnstructured())
	mg.SetDeletionPolicy(xpv1.DeletionOrphan)
	for name, tc := range map[string]struct{ got, want any }{
		"a copy stays as it was":            {deep.GetDeletionPolicy(), xpv1.DeletionPolicy("")},
		"content stays as it was":           {content["spec"], map[string]any{"managementPolicies": []any{}}},
		"what is wrapped changes":           {shared.GetDeletionPolicy(), xpv1.DeletionOrphan},
		"an empty instance is of that kind": {mg.NewEmptyInstance(), runtime.Unstructured(unstructured.New(bucketKind))},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s -want +got:\n%s", name, diff)
		}
	}
	var none *unstructured.Managed
	if none.DeepCopyObject() != nil || none.DeepCopy() != nil {
		t.Error("nothing copies to something")
	}
	zero := &unstructured.Managed{}
	zero.SetBindingPhase(xpv1.BindingPhaseUnbound)
	if zero.GetBindingPhase() != xpv1.BindingPhaseUnbound {
		t.Errorf("the zero value cannot be used: %v", zero.Object)
	}
}

// A kind that was learned at run time has conditions, policies and all else like any other.
func Example() {
	mg := unstructured.New(schema.GroupVersionKind{Group: "storage.example.org", Version: "v1", Kind: "Bucket"})
	mg.SetDeletionPolicy(xpv1.DeletionOrphan)
	fmt.Println(resource.MayDeleteExternal(mg))
	fmt.Println(mg.Object["spec"])
	// Output:
	// false
	// map[deletionPolicy:Orphan]
}

// The managed reconciler looks after such a kind as after any other.
func ExampleNewClient() {
	setup := func(mgr manager.Manager, kind schema.GroupVersionKind, connecter managed.ExternalConnecter) *managed.Reconciler {
		return managed.NewReconciler(mgr, resource.ManagedKind(kind),
			managed.WithNewManaged(func() resource.Managed { return unstructured.New(kind) }),
			managed.WithClient(unstructured.NewClient(mgr.GetClient())),
			managed.WithExternalConnecter(connecter))
	}
	_ = setup
}
