// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package unstructured implements managed resources of kinds without a Go type, for example kinds that a bridge to another system
// discovers at run time.
//
// A Managed implements resource.Managed and the role interfaces by reading and writing the JSON paths of the common spec and status
// in package apis/common/v1. Package managed reconciles it like any other kind:
//
//	r := managed.NewReconciler(mgr, resource.ManagedKind(gvk),
//		managed.WithNewManaged(func() resource.Managed { return unstructured.New(gvk) }),
//		managed.WithClient(unstructured.NewClient(mgr.GetClient())),
//		managed.WithExternalConnecter(&connecter{}))
//	return ctrl.NewControllerManagedBy(mgr).Named(name).For(unstructured.New(gvk).GetUnstructured()).Complete(r)
//
// Caches only support plain unstructured objects, hence GetUnstructured and NewClient. A manager's client reads them from its cache
// only if manager.Options.Client.Cache.Unstructured is set.
package unstructured

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// NewClient returns a client that reads Managed objects as plain unstructured ones, so that they can come from a cache.
func NewClient(c client.Client) client.Client { return unwrapper{c} }

type unwrapper struct{ client.Client }

// Get satisfies client.Reader.
func (u unwrapper) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if wrapper, ok := obj.(interface{ GetUnstructured() *kube.Unstructured }); ok {
		obj = wrapper.GetUnstructured()
	}
	return u.Client.Get(ctx, key, obj, opts...)
}

func (m *Managed) SetConditions(c ...xpv1.Condition) {
	have := m.conditions()
	have.SetConditions(c...)
	write(m, "status.conditions", have.Conditions)
}

func (m *Managed) GetCondition(ct xpv1.ConditionType) xpv1.Condition {
	have := m.conditions()
	return have.GetCondition(ct)
}

func (m *Managed) conditions() xpv1.ConditionedStatus {
	return xpv1.ConditionedStatus{Conditions: read[[]xpv1.Condition](m, "status.conditions", nil)}
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

// filled is nil for a list without entries, which the API leaves out.
func filled[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// A holder wraps a value in an object for the converter. It omits a nil list, but not an empty one.
type holder[T any] struct {
	Value T `json:"value,omitzero"`
}

// read returns the value of a field such as spec.claimRef: the zero value if it is unset, malformed if it has another type.
func read[T any](m *Managed, path string, malformed T) T {
	var held holder[T]
	value, found, err := kube.NestedFieldNoCopy(m.Object, strings.Split(path, ".")...)
	if err == nil && found {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"value": value}, &held)
	}
	if err != nil {
		return malformed
	}
	return held.Value
}

// write sets a field, or removes it if the value is the zero value.
func write[T any](m *Managed, path string, value T) {
	held, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&holder[T]{Value: value})
	if err != nil {
		panic(fmt.Errorf("converting %T: %w", value, err)) // all types of the API convert
	}
	section, key, _ := strings.Cut(path, ".")
	part, _ := m.Object[section].(map[string]any)
	converted, set := held["value"]
	switch {
	case set && part != nil:
		part[key] = converted
	case set:
		if m.Object == nil {
			m.Object = map[string]any{}
		}
		m.Object[section] = map[string]any{key: converted}
	default:
		delete(part, key)
	}
}
