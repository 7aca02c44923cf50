// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// DefaultProviderConfig is the name of the ProviderConfig of objects that refer to none (R228).
const DefaultProviderConfig = "default"

// SetBindable marks a managed resource as ready to be bound to a claim. One that is bound or released is unchanged (A43, K40) while
// it refers to a claim: clearing spec.claimRef of a released managed resource makes it available again (R279).
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

// ProviderConfigKind returns the kind of the provider configuration that the managed resource uses (N2): a cluster-scoped
// object uses a ProviderConfig, a namespaced one the kind in its reference, by default a ClusterProviderConfig.
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
	w, is := mg.(ConnectionSecretWriterTo)
	if !is || w.GetWriteConnectionSecretToReference() == nil {
		return ref, false
	}
	ref = *w.GetWriteConnectionSecretToReference()
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
