// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// documented is what the documents ask of every managed resource, and no more: an author who wrote these methods once has
// a managed resource for good.
type documented interface {
	metav1.Object
	runtime.Object

	SetConditions(c ...xpv1.Condition)
	GetCondition(ct xpv1.ConditionType) xpv1.Condition

	SetManagementPolicies(p xpv1.ManagementPolicies)
	GetManagementPolicies() xpv1.ManagementPolicies
}

// Either assignment stops compiling if a method is added, removed or changed.
var (
	_ resource.Managed = documented(nil)
	_ documented       = resource.Managed(nil)
)

// The accessors that only some kinds need, each pair a role that a kind may do without.
var (
	_ resource.Conditioned              = resource.Managed(nil)
	_ resource.Manageable               = resource.Managed(nil)
	_ resource.ProviderConfigReferencer = (*unstructured.Managed)(nil)
	_ resource.ConnectionSecretWriterTo = (*unstructured.Managed)(nil)
	_ resource.Orphanable               = (*unstructured.Managed)(nil)
	_ resource.Reclaimer                = (*unstructured.Managed)(nil)
	_ resource.ClaimReferencer          = (*unstructured.Managed)(nil)
	_ resource.ClassReferencer          = (*unstructured.Managed)(nil)
	_ resource.Bindable                 = (*unstructured.Managed)(nil)
)

func TestManaged(t *testing.T) {
	t.Parallel()
	t.Run("A31 Managed is the documented interface", func(t *testing.T) {
		t.Parallel()
		managed, want := reflect.TypeFor[resource.Managed](), reflect.TypeFor[documented]()
		if managed.NumMethod() != want.NumMethod() || !managed.Implements(want) || !want.Implements(managed) {
			t.Errorf("Managed has %d methods, the documents %d", managed.NumMethod(), want.NumMethod())
		}
	})
}
