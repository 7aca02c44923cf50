// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// conditioned is what objects with conditions have.
type conditioned interface {
	metav1.Object
	runtime.Object
	SetConditions(c ...xpv1.Condition)
	GetCondition(ct xpv1.ConditionType) xpv1.Condition
}

// documentedManaged is what the contract asks of every managed resource, and no more: an author that wrote these methods once has
// a managed resource for good.
type documentedManaged interface {
	conditioned
	SetManagementPolicies(p xpv1.ManagementPolicies)
	GetManagementPolicies() xpv1.ManagementPolicies
}

// documentedClaim is what the contract asks of every claim, and no more.
type documentedClaim interface {
	conditioned
	SetClassSelector(s *metav1.LabelSelector)
	GetClassSelector() *metav1.LabelSelector
	SetClassReference(r *corev1.ObjectReference)
	GetClassReference() *corev1.ObjectReference
	SetResourceReference(r *corev1.ObjectReference)
	GetResourceReference() *corev1.ObjectReference
	SetWriteConnectionSecretToReference(r *xpv1.LocalSecretReference)
	GetWriteConnectionSecretToReference() *xpv1.LocalSecretReference
	SetBindingPhase(p xpv1.BindingPhase)
	GetBindingPhase() xpv1.BindingPhase
}

// documentedClass is what the contract asks of every class, and the limits that this project adds.
type documentedClass interface {
	metav1.Object
	runtime.Object

	SetProviderConfigReference(p *xpv1.ProviderConfigReference)
	GetProviderConfigReference() *xpv1.ProviderConfigReference
	SetReclaimPolicy(p xpv1.ReclaimPolicy)
	GetReclaimPolicy() xpv1.ReclaimPolicy
	SetWriteConnectionSecretsToNamespace(namespace string)
	GetWriteConnectionSecretsToNamespace() string

	SetClaimLimits(l xpv1.ClaimLimits)
	GetClaimLimits() xpv1.ClaimLimits
}

// documentedTarget is what the contract asks of every target, and no more.
type documentedTarget interface {
	conditioned
	SetResourceReference(r *corev1.ObjectReference)
	GetResourceReference() *corev1.ObjectReference
	SetWriteConnectionSecretToReference(r *xpv1.LocalSecretReference)
	GetWriteConnectionSecretToReference() *xpv1.LocalSecretReference
}

// Kinds convert from and to a GroupVersionKind (A34).
var _ = []schema.GroupVersionKind{
	schema.GroupVersionKind(resource.ManagedKind(bucketKind)), schema.GroupVersionKind(resource.ClaimKind(bucketKind)),
	schema.GroupVersionKind(resource.ClassKind(bucketKind)), schema.GroupVersionKind(resource.TargetKind(bucketKind)),
}

// An interface has the documented methods, no others, and with the same types: each implements the other.
func TestInterfaces(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want reflect.Type }{
		"Managed (A8, A31)":      {reflect.TypeFor[resource.Managed](), reflect.TypeFor[documentedManaged]()},
		"Claim (A32)":            {reflect.TypeFor[resource.Claim](), reflect.TypeFor[documentedClaim]()},
		"Class (A33)":            {reflect.TypeFor[resource.Class](), reflect.TypeFor[documentedClass]()},
		"Target (A30, A34, K74)": {reflect.TypeFor[resource.Target](), reflect.TypeFor[documentedTarget]()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if !tc.got.Implements(tc.want) || !tc.want.Implements(tc.got) {
				t.Errorf("it has %d methods, the documentation %d", tc.got.NumMethod(), tc.want.NumMethod())
			}
		})
	}
}
