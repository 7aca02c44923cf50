// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resource defines the interfaces of managed resources, claims, classes and targets, predicates over them, and functions
// that their controllers share.
//
// A kind is a managed resource if its objects implement Managed. Further capabilities are role interfaces such as Orphanable or
// Drifting, found by type assertion.
//
//	policy, ok := mg.(resource.Orphanable)
//
// Package managed reconciles objects that implement Managed; package unstructured implements it for kinds without a Go type.
// resource.ExternalConnecter and resource.ExternalClient of older versions of the contract are in package managed (A45).
package resource

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// DefaultProviderConfig is the name of the ProviderConfig of objects that refer to none (R228).
const DefaultProviderConfig = "default"

// SetBindable marks a managed resource as ready to be bound to a claim. One that is bound or released is unchanged while it
// refers to a claim: clearing spec.claimRef of a released managed resource makes it available again (A43, K40, R279).
func SetBindable(b Bindable) {
	switch b.GetBindingPhase() {
	case xpv1.BindingPhaseBound, xpv1.BindingPhaseReleased:
		if r, ok := b.(ClaimReferencer); !ok || r.GetClaimReference() != nil {
			return
		}
	}
	b.SetBindingPhase(xpv1.BindingPhaseUnbound)
}

// ProviderConfigName returns the name of the ProviderConfig that the managed resource uses: the one it refers to, else
// DefaultProviderConfig (R227, R228).
func ProviderConfigName(mg client.Object) string {
	if r, ok := mg.(ProviderConfigReferencer); ok {
		if ref := r.GetProviderConfigReference(); ref != nil && ref.Name != "" {
			return ref.Name
		}
	}
	return DefaultProviderConfig
}

// ProviderConfigKind returns the kind of the provider configuration that the managed resource uses: a cluster-scoped object
// uses a ProviderConfig, a namespaced one the kind in its reference, by default a ClusterProviderConfig (N2).
func ProviderConfigKind(mg client.Object) string {
	if mg.GetNamespace() == "" {
		return xpv1.ProviderConfigKind
	}
	if r, ok := mg.(ProviderConfigReferencer); ok {
		if ref := r.GetProviderConfigReference(); ref != nil && ref.Kind != "" {
			return ref.Kind
		}
	}
	return xpv1.ClusterProviderConfigKind
}

// NamespaceOf returns the namespace of a managed resource, or of the claim that it is bound to, or an empty string.
func NamespaceOf(mg client.Object) string {
	r, ok := mg.(ClaimReferencer)
	if ok && mg.GetNamespace() == "" && r.GetClaimReference() != nil {
		return r.GetClaimReference().Namespace
	}
	return mg.GetNamespace()
}

// MayDeleteExternal is true if all policies of the managed resource permit deleting its external resource with the object (N3,
// R56). An unset deletion or reclaim policy permits it.
func MayDeleteExternal(mg Managed) bool {
	if o, ok := mg.(Orphanable); ok && o.GetDeletionPolicy() == xpv1.DeletionOrphan {
		return false
	}
	if r, ok := mg.(Reclaimer); ok && r.GetReclaimPolicy() == xpv1.ReclaimRetain {
		return false
	}
	return mg.GetManagementPolicies().Allow(xpv1.ManagementActionDelete)
}

// ConnectionSecretReference returns the Secret for the connection details of a managed resource. It is not ok if the kind has none
// or the object refers to none (R210). The Secret of a namespaced object is in its namespace (N2).
func ConnectionSecretReference(mg client.Object) (ref xpv1.SecretReference, ok bool) {
	switch w := mg.(type) {
	case ConnectionSecretWriterTo:
		if to := w.GetWriteConnectionSecretToReference(); to != nil {
			ref = *to
		}
	case LocalConnectionSecretWriterTo:
		if to := w.GetWriteConnectionSecretToReference(); to != nil {
			ref.Name = to.Name
		}
	}
	if mg.GetNamespace() != "" {
		ref.Namespace = mg.GetNamespace()
	}
	return ref, ref.Name != ""
}

// An ErrorIs function is true for a class of errors (A44).
type ErrorIs func(err error) bool

// Ignore returns nil if the error is of the given class, else the error itself (R321).
func Ignore(is ErrorIs, err error) error {
	if err == nil || is(err) {
		return nil
	}
	return err
}

// IgnoreNotFound returns nil if the API server reported that the object does not exist, else the error itself.
func IgnoreNotFound(err error) error { return Ignore(apierrors.IsNotFound, err) }

// A ManagedKind is the kind of a managed resource (A34).
type ManagedKind schema.GroupVersionKind

// A ClaimKind is the kind of a resource claim (A34).
type ClaimKind schema.GroupVersionKind

// A ClassKind is the kind of a resource class (A34).
type ClassKind schema.GroupVersionKind

// A TargetKind is the kind of a target (A34).
type TargetKind schema.GroupVersionKind

// GetKind returns the kind of an object according to the typer, usually a scheme. It fails for a type that the typer does not know,
// or knows by several kinds.
func GetKind(obj runtime.Object, ot runtime.ObjectTyper) (schema.GroupVersionKind, error) {
	if absent(obj) {
		return schema.GroupVersionKind{}, errors.New("finding the kind of an object: there is no object")
	}
	kinds, unversioned, err := ot.ObjectKinds(obj)
	switch {
	case err != nil:
		return schema.GroupVersionKind{}, fmt.Errorf("finding the kind of an object: %w", err)
	case unversioned:
		return schema.GroupVersionKind{}, fmt.Errorf("finding the kind of an object: %T has no version", obj)
	case len(kinds) != 1:
		return schema.GroupVersionKind{}, fmt.Errorf("finding the kind of an object: %T is registered as %d kinds", obj, len(kinds))
	}
	return kinds[0], nil
}

// MustCreateObject returns an empty object of a kind that the program registered with the creater, usually a scheme. It panics if
// the kind is not registered.
func MustCreateObject(kind schema.GroupVersionKind, oc runtime.ObjectCreater) runtime.Object {
	obj, err := oc.New(kind)
	if err != nil {
		panic(fmt.Errorf("creating an object of kind %s: %w", kind, err))
	}
	return obj
}
