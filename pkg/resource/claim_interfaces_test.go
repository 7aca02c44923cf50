// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// documentedClaim is what the documents ask of every claim, and no more.
type documentedClaim interface {
	metav1.Object
	runtime.Object

	SetConditions(c ...xpv1.Condition)
	GetCondition(ct xpv1.ConditionType) xpv1.Condition

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

// documentedClass is what the documents ask of every class, and the limits that this project adds.
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

// documentedTarget is what the documents ask of every target, and no more.
type documentedTarget interface {
	metav1.Object
	runtime.Object

	SetConditions(c ...xpv1.Condition)
	GetCondition(ct xpv1.ConditionType) xpv1.Condition

	SetResourceReference(r *corev1.ObjectReference)
	GetResourceReference() *corev1.ObjectReference
	SetWriteConnectionSecretToReference(r *xpv1.LocalSecretReference)
	GetWriteConnectionSecretToReference() *xpv1.LocalSecretReference
}

// Each assignment stops compiling if a method is added, removed or changed.
var (
	_ resource.Claim  = documentedClaim(nil)
	_ documentedClaim = resource.Claim(nil)
	_ resource.Class  = documentedClass(nil)
	_ documentedClass = resource.Class(nil)

	_ resource.Target  = documentedTarget(nil)
	_ documentedTarget = resource.Target(nil)
)

func TestClaimInterfaces(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ got, want reflect.Type }{
		"A32 Claim is the documented interface": {reflect.TypeFor[resource.Claim](), reflect.TypeFor[documentedClaim]()},
		"A33 Class is the documented interface": {reflect.TypeFor[resource.Class](), reflect.TypeFor[documentedClass]()},
		"A30 K74 Target is the documented interface": {
			reflect.TypeFor[resource.Target](), reflect.TypeFor[documentedTarget](),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.got.NumMethod() != tc.want.NumMethod() || !tc.got.Implements(tc.want) || !tc.want.Implements(tc.got) {
				t.Errorf("it has %d methods, the documents %d", tc.got.NumMethod(), tc.want.NumMethod())
			}
		})
	}
}
