// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unstructured implements managed resources of kinds without a Go type, for example kinds that a bridge to another system
// discovers at run time.
//
// A Managed implements resource.Managed and the role interfaces by reading and writing the JSON paths of the common spec and status
// in package apis/common/v1; a ProviderConfig does the same for the kinds of provider configurations. Packages provider and managed
// reconcile them like any other kind:
//
//	r := managed.NewReconciler(mgr, resource.ManagedKind(gvk),
//		managed.WithNewManaged(func() resource.Managed { return unstructured.New(gvk) }),
//		managed.WithExternalConnecter(&connecter{}))
//	return r.SetupWithManager(mgr, unstructured.NewProviderConfig(configGVK))
//
// Caches only support plain unstructured objects: Plain returns one, As wraps one, and ClientOf reads both from a manager's cache.
package unstructured

import (
	corev1 "k8s.io/api/core/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Managed is a managed resource of any kind. Spec and status must have the fields of ResourceSpec or NamespacedResourceSpec, and
// of ResourceStatus, of package apis/common/v1. A field of another type reads as unset; a policy of another type reads as the
// most restrictive one.
type Managed struct {
	kube.Unstructured
}

var _ interface {
	resource.BindableManaged
	resource.Orphanable
	resource.Recreatable
	resource.Drifting
	resource.SecretInputRecorder
	runtime.Unstructured
} = &Managed{}

// New returns an empty managed resource of the kind.
func New(of schema.GroupVersionKind) *Managed {
	mg := &Managed{}
	mg.SetGroupVersionKind(of)
	return mg
}

// Wrap returns the object as a managed resource, which shares the object's content.
func Wrap(o *kube.Unstructured) *Managed { return &Managed{Unstructured: *o} }

// GetUnstructured returns the object itself, for code that requires that type, such as caches.
func (m *Managed) GetUnstructured() *kube.Unstructured { return &m.Unstructured }

// UnstructuredContent returns a copy of the content, which does not change with the object. SetUnstructuredContent changes the
// object.
func (m *Managed) UnstructuredContent() map[string]any {
	return runtime.DeepCopyJSON(m.Unstructured.UnstructuredContent())
}

// NewEmptyInstance returns an empty object of the same kind.
func (m *Managed) NewEmptyInstance() runtime.Unstructured { return New(m.GroupVersionKind()) }

// DeepCopy returns a copy that shares nothing with the object.
func (m *Managed) DeepCopy() *Managed {
	if m == nil {
		return nil
	}
	return &Managed{Unstructured: *m.Unstructured.DeepCopy()}
}

// DeepCopyObject implements runtime.Object.
func (m *Managed) DeepCopyObject() runtime.Object {
	if m == nil {
		return nil
	}
	return m.DeepCopy()
}

func (m *Managed) SetConditions(c ...xpv1.Condition) { setConditions(m, c) }
func (m *Managed) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	return conditionsOf(m).GetCondition(ct)
}

// SetManagementPolicies: empty policies stay empty, as a user's will to pause (R106).
func (m *Managed) SetManagementPolicies(p xpv1.ManagementPolicies) {
	write(m, "spec.managementPolicies", p)
}

// GetManagementPolicies: policies that are no list of words pause the object.
func (m *Managed) GetManagementPolicies() xpv1.ManagementPolicies {
	return read(m, "spec.managementPolicies", xpv1.ManagementPolicies{})
}

func (m *Managed) SetProviderConfigReference(r *xpv1.ProviderConfigReference) {
	write(m, "spec.providerConfigRef", r)
}

func (m *Managed) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return read[*xpv1.ProviderConfigReference](m, "spec.providerConfigRef", nil)
}

func (m *Managed) SetWriteConnectionSecretToReference(r *xpv1.SecretReference) {
	write(m, "spec.writeConnectionSecretToRef", r)
}

func (m *Managed) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return read[*xpv1.SecretReference](m, "spec.writeConnectionSecretToRef", nil)
}

func (m *Managed) SetDeletionPolicy(p xpv1.DeletionPolicy) { write(m, "spec.deletionPolicy", p) }

// GetDeletionPolicy: what is no policy keeps the external resource.
func (m *Managed) GetDeletionPolicy() xpv1.DeletionPolicy {
	return read(m, "spec.deletionPolicy", xpv1.DeletionOrphan)
}

func (m *Managed) SetRecreatePolicy(p xpv1.RecreatePolicy) { write(m, "spec.recreatePolicy", p) }

// GetRecreatePolicy: what is no policy creates nothing again.
func (m *Managed) GetRecreatePolicy() xpv1.RecreatePolicy {
	return read(m, "spec.recreatePolicy", xpv1.RecreateOnRequest)
}

func (m *Managed) SetCredentialsPolicy(p xpv1.CredentialsPolicy) { write(m, "spec.credentials", p) }

// GetCredentialsPolicy: what is no policy replaces nothing.
func (m *Managed) GetCredentialsPolicy() xpv1.CredentialsPolicy {
	return read(m, "spec.credentials", xpv1.CredentialsPolicy{})
}

func (m *Managed) SetReclaimPolicy(p xpv1.ReclaimPolicy) { write(m, "spec.reclaimPolicy", p) }

// GetReclaimPolicy: what is no policy keeps the external resource.
func (m *Managed) GetReclaimPolicy() xpv1.ReclaimPolicy {
	return read(m, "spec.reclaimPolicy", xpv1.ReclaimRetain)
}

func (m *Managed) SetClaimReference(r *corev1.ObjectReference) { write(m, "spec.claimRef", r) }
func (m *Managed) GetClaimReference() *corev1.ObjectReference {
	return read[*corev1.ObjectReference](m, "spec.claimRef", nil)
}

func (m *Managed) SetClassReference(r *corev1.ObjectReference) { write(m, "spec.classRef", r) }
func (m *Managed) GetClassReference() *corev1.ObjectReference {
	return read[*corev1.ObjectReference](m, "spec.classRef", nil)
}

func (m *Managed) SetBindingPhase(p xpv1.BindingPhase) { write(m, "status.bindingPhase", p) }
func (m *Managed) GetBindingPhase() xpv1.BindingPhase {
	return read[xpv1.BindingPhase](m, "status.bindingPhase", "")
}

func (m *Managed) SetDrift(d []xpv1.FieldDifference) { write(m, "status.drift", filled(d)) }
func (m *Managed) GetDrift() []xpv1.FieldDifference {
	return read[[]xpv1.FieldDifference](m, "status.drift", nil)
}

func (m *Managed) SetSecretInputs(i []xpv1.SecretInput) {
	write(m, "status.secretInputs", filled(i))
}

func (m *Managed) GetSecretInputs() []xpv1.SecretInput {
	return read[[]xpv1.SecretInput](m, "status.secretInputs", nil)
}
