// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package meta reads and writes the metadata that managed resources carry: external names, creation annotations,
// the pause annotation, finalizers and owner references.
//
// Its functions change objects in memory only; package managed decides when to store them.
package meta

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Annotations of managed resources (Annex A of the contract).
const (
	// AnnotationKeyExternalName holds the name of the external resource in its own environment (R62).
	AnnotationKeyExternalName = "crossplane.io/external-name"
	// AnnotationKeyExternalCreatePending holds the time at which the last creation began (R75).
	AnnotationKeyExternalCreatePending = "crossplane.io/external-create-pending"
	// AnnotationKeyExternalCreateSucceeded holds the time at which a creation last succeeded (R75).
	AnnotationKeyExternalCreateSucceeded = "crossplane.io/external-create-succeeded"
	// AnnotationKeyExternalCreateFailed holds the time at which a creation last failed (R75).
	AnnotationKeyExternalCreateFailed = "crossplane.io/external-create-failed"
	// AnnotationKeyReconciliationPaused pauses an object if its value is exactly "true" (R96).
	AnnotationKeyReconciliationPaused = "crossplane.io/paused"
)

// Labels that external resources carry where their system allows labels or tags. Where dots and slashes are not
// allowed in keys these are already without (P13).
const (
	// ExternalLabelKind is for people: the kind of the managed resource, as <kind>.<group> in lower case (P12).
	ExternalLabelKind = "crossplane-kind"
	// ExternalLabelName is for people: the name of the managed resource (P11).
	ExternalLabelName = "crossplane-name"
	// ExternalLabelProvider is for people: the name of the ProviderConfig that was used (P11).
	ExternalLabelProvider = "crossplane-provider"
	// ExternalLabelUID proves ownership: the UID of the managed resource (N23).
	ExternalLabelUID = "bowline-uid"
)

// GetExternalName returns the external name, or an empty string if there is none yet.
func GetExternalName(o metav1.Object) string {
	return o.GetAnnotations()[AnnotationKeyExternalName]
}

// SetExternalName records the external name.
func SetExternalName(o metav1.Object, name string) {
	setAnnotation(o, AnnotationKeyExternalName, name)
}

// IsPaused is true if the pause annotation has exactly the value "true" (R97).
func IsPaused(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationKeyReconciliationPaused] == "true"
}

// WasDeleted is true once somebody asked for the object's deletion.
func WasDeleted(o metav1.Object) bool {
	return !o.GetDeletionTimestamp().IsZero()
}

// FinalizerExists is true if the object has the finalizer.
func FinalizerExists(o metav1.Object, finalizer string) bool {
	return slices.Contains(o.GetFinalizers(), finalizer)
}

// AddFinalizer adds the finalizer unless the object has it.
func AddFinalizer(o metav1.Object, finalizer string) {
	if !FinalizerExists(o, finalizer) {
		o.SetFinalizers(append(slices.Clone(o.GetFinalizers()), finalizer))
	}
}

// RemoveFinalizer removes the finalizer if the object has it.
func RemoveFinalizer(o metav1.Object, finalizer string) {
	o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == finalizer }))
}

// AsController returns an owner reference that makes the object of the given kind the controller of what carries it.
// The owned object never blocks its owner's deletion.
func AsController(o metav1.Object, of schema.GroupVersionKind) metav1.OwnerReference {
	controller := true
	return metav1.OwnerReference{
		APIVersion: of.GroupVersion().String(),
		Kind:       of.Kind,
		Name:       o.GetName(),
		UID:        o.GetUID(),
		Controller: &controller,
	}
}

// GetExternalLabels returns the labels that an external resource of the managed resource carries (P10, N23).
func GetExternalLabels(o metav1.Object, kind schema.GroupKind, providerConfig string) map[string]string {
	return map[string]string{
		ExternalLabelKind:     lowerKind(kind),
		ExternalLabelName:     o.GetName(),
		ExternalLabelProvider: providerConfig,
		ExternalLabelUID:      string(o.GetUID()),
	}
}

// lowerKind names a kind as kubectl accepts it, so that a label of an external resource can be pasted after "kubectl get".
func lowerKind(kind schema.GroupKind) string {
	return strings.ToLower(kind.String())
}

func setAnnotation(o metav1.Object, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}
