// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// bucket returns a managed resource after change.
func bucket(change func(*unstructured.Managed)) *unstructured.Managed {
	mg := unstructured.New(bucketKind)
	change(mg)
	return mg
}

func TestSetBindable(t *testing.T) {
	t.Parallel()
	orders := &corev1.ObjectReference{Name: "orders"}
	for name, tc := range map[string]struct {
		have, want xpv1.BindingPhase
		claim      *corev1.ObjectReference
	}{
		"A43 K40 unset":            {want: xpv1.BindingPhaseUnbound},
		"K40 unbindable":           {have: xpv1.BindingPhaseUnbindable, want: xpv1.BindingPhaseUnbound},
		"K40 unbound":              {have: xpv1.BindingPhaseUnbound, want: xpv1.BindingPhaseUnbound},
		"K40 asked for by a claim": {want: xpv1.BindingPhaseUnbound, claim: orders},
		"K40 bound stays":          {have: xpv1.BindingPhaseBound, want: xpv1.BindingPhaseBound, claim: orders},
		"N4 released stays":        {have: xpv1.BindingPhaseReleased, want: xpv1.BindingPhaseReleased, claim: orders},
		"N4 released and offered":  {have: xpv1.BindingPhaseReleased, want: xpv1.BindingPhaseUnbound},
	} {
		t.Run(name, func(t *testing.T) {
			mg := bucket(func(mg *unstructured.Managed) {
				mg.SetBindingPhase(tc.have)
				mg.SetClaimReference(tc.claim)
			})
			resource.SetBindable(mg)
			if got := mg.GetBindingPhase(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMayDeleteExternal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policies xpv1.ManagementPolicies
		deletion xpv1.DeletionPolicy
		reclaim  xpv1.ReclaimPolicy
		want     bool
	}{
		"N3 R56 nothing said":           {want: true},
		"N3 R56 all permit it":          {xpv1.ManagementPolicies{"*"}, "Delete", "Delete", true},
		"N3 R56 deletion policy":        {xpv1.ManagementPolicies{"*"}, "Orphan", "Delete", false},
		"N3 R56 reclaim policy":         {xpv1.ManagementPolicies{"*"}, "Delete", "Retain", false},
		"N3 R56 R111 management policy": {xpv1.ManagementPolicies{"Observe", "Create"}, "Delete", "Delete", false},
		"N3 R56 R111 action Delete":     {xpv1.ManagementPolicies{"Observe", "Delete"}, "", "", true},
		"N3 R56 paused":                 {xpv1.ManagementPolicies{}, "Delete", "Delete", false},
	} {
		t.Run(name, func(t *testing.T) {
			mg := bucket(func(mg *unstructured.Managed) {
				mg.SetManagementPolicies(tc.policies)
				mg.SetDeletionPolicy(tc.deletion)
				mg.SetReclaimPolicy(tc.reclaim)
			})
			if got := resource.MayDeleteExternal(mg); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestProviderConfig(t *testing.T) {
	t.Parallel()
	type config struct{ kind, name string }
	for name, tc := range map[string]struct {
		mg   client.Object
		want config
	}{
		"R228 N2 none named": {bucket(func(*unstructured.Managed) {}), config{"ProviderConfig", "default"}},
		"R228 N2 none named, in a namespace": {
			bucket(func(mg *unstructured.Managed) { mg.SetNamespace("shop") }), config{"ClusterProviderConfig", "default"}},
		"R227 one named": {uses("", "", "team"), config{"ProviderConfig", "team"}},
		"R227 N2 a cluster-scoped object uses a ProviderConfig": {
			uses("", "ClusterProviderConfig", "team"), config{"ProviderConfig", "team"}},
		"R227 N2 one named in a namespace, no kind": {uses("shop", "", "team"), config{"ClusterProviderConfig", "team"}},
		"R227 N2 one named in a namespace, a kind":  {uses("shop", "ProviderConfig", "team"), config{"ProviderConfig", "team"}},
		"R228 a kind without that role":             {&corev1.ConfigMap{}, config{"ProviderConfig", "default"}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (config{resource.ProviderConfigKind(tc.mg), resource.ProviderConfigName(tc.mg)}); got != tc.want {
				t.Errorf("uses %+v, want %+v", got, tc.want)
			}
		})
	}
}

// uses returns a managed resource that names its provider configuration.
func uses(namespace, kind, name string) *unstructured.Managed {
	return bucket(func(mg *unstructured.Managed) {
		mg.SetNamespace(namespace)
		mg.SetProviderConfigReference(&xpv1.ProviderConfigReference{Kind: kind, Name: name})
	})
}

func TestConnectionSecretReference(t *testing.T) {
	t.Parallel()
	inA, inShop := &xpv1.SecretReference{Namespace: "a", Name: "b"}, &xpv1.SecretReference{Namespace: "shop", Name: "b"}
	for name, tc := range map[string]struct {
		mg   client.Object
		want *xpv1.SecretReference
	}{
		"R210 none":                     {mg: bucket(func(*unstructured.Managed) {})},
		"R210 an empty one":             {mg: publishes("", xpv1.SecretReference{})},
		"R210 empty, in a namespace":    {mg: publishes("shop", xpv1.SecretReference{})},
		"R209 where it says":            {mg: publishes("", xpv1.SecretReference{Namespace: "a", Name: "b"}), want: inA},
		"R209 N2 by name only":          {mg: publishes("shop", xpv1.SecretReference{Name: "b"}), want: inShop},
		"N2 never in another namespace": {mg: publishes("shop", xpv1.SecretReference{Namespace: "a", Name: "b"}), want: inShop},
		"R210 a kind without that role": {mg: &corev1.ConfigMap{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := resource.ConnectionSecretReference(tc.mg)
			if ok != (tc.want != nil) {
				t.Fatalf("got %+v, %t; want %+v", got, ok, tc.want)
			}
			if tc.want != nil && got != *tc.want {
				t.Errorf("got %+v, want %+v", got, *tc.want)
			}
		})
	}
}

// publishes returns a managed resource that names its connection secret.
func publishes(namespace string, ref xpv1.SecretReference) *unstructured.Managed {
	return bucket(func(mg *unstructured.Managed) {
		mg.SetNamespace(namespace)
		mg.SetWriteConnectionSecretToReference(&ref)
	})
}

func TestIsConditionTrue(t *testing.T) {
	t.Parallel()
	mg := bucket(func(mg *unstructured.Managed) { mg.SetConditions(xpv1.Available(), xpv1.ReconcilePaused()) })
	got := map[xpv1.ConditionType]bool{}
	for _, ct := range []xpv1.ConditionType{xpv1.TypeReady, xpv1.TypeSynced, xpv1.TypeInSync} {
		got[ct] = resource.IsConditionTrue(mg.GetCondition(ct))
	}
	if diff := cmp.Diff(map[xpv1.ConditionType]bool{"Ready": true, "Synced": false, "InSync": false}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAPIOfManaged(t *testing.T) {
	t.Parallel()
	t.Run("A8 A31 what a managed resource offers", func(t *testing.T) {
		var mg resource.Managed = unstructured.New(bucketKind)
		for role, ok := range map[string]bool{
			"provider config":   is[resource.ProviderConfigReferencer](mg),
			"connection secret": is[resource.ConnectionSecretWriterTo](mg),
			"deletion policy":   is[resource.Orphanable](mg),
			"reclaim policy":    is[resource.Reclaimer](mg),
			"claim":             is[resource.ClaimReferencer](mg),
			"class":             is[resource.ClassReferencer](mg),
			"binding phase":     is[resource.Bindable](mg),
		} {
			if !ok {
				t.Errorf("a managed resource does not offer its %s", role)
			}
		}
		mg.SetConditions(xpv1.Creating(), xpv1.ReconcileSuccess())
		if mg.GetCondition(xpv1.TypeReady).Reason != xpv1.ReasonCreating || !mg.GetManagementPolicies().Allow(xpv1.ManagementActionUpdate) {
			t.Errorf("got %+v", mg)
		}
	})
}

func is[I any](o any) bool { _, ok := o.(I); return ok }
