// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package resource is the vocabulary of managed resources: the interfaces they satisfy and small helpers that every
// controller of theirs needs.
//
// Package managed reconciles what satisfies Managed; providers implement it for their kinds.
package resource

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// DefaultProviderConfig is the name of the ProviderConfig that objects use which name none (R228).
const DefaultProviderConfig = "default"

// A ManagedKind is the kind of a managed resource.
type ManagedKind schema.GroupVersionKind

// An ErrorIs function is true for errors of a certain kind.
type ErrorIs func(err error) bool

// Ignore returns nil if the error is of the given kind, else the error itself (R321).
func Ignore(is ErrorIs, err error) error {
	if err == nil || is(err) {
		return nil
	}
	return err
}

// ProviderConfigName returns the name of the ProviderConfig that the managed resource uses: the one it names, else
// DefaultProviderConfig (R227, R228).
func ProviderConfigName(mg client.Object) string {
	if r, ok := mg.(ProviderConfigReferencer); ok {
		if ref := r.GetProviderConfigReference(); ref != nil && ref.Name != "" {
			return ref.Name
		}
	}
	return DefaultProviderConfig
}

// ConnectionSecretReference returns where the managed resource wants its connection details published. It is not ok
// where the kind has none, or the object names none (R210). A namespaced object's Secret is in its own namespace (N2).
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
