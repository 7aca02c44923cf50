// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package meta reads and writes the metadata that managed resources carry: external names, creation annotations,
// the pause annotation, finalizers and owner references. It also says which labels their external resources carry.
//
// Its functions change objects in memory only; package managed decides when to store them. What must survive a crash is
// here and not in the status, which can be lost: above all when a creation began, succeeded and failed. The order of these
// three alone tells whether an external resource may exist whose name nobody recorded.
package meta

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Annotations of managed resources.
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
	// AnnotationKeyPollInterval says how often the external resource is looked at, as a Go duration of at least a second.
	AnnotationKeyPollInterval = "crossplane.io/poll-interval"
	// AnnotationKeyReconcileRequestedAt makes the reconciler look at once when its value changes.
	AnnotationKeyReconcileRequestedAt = "crossplane.io/reconcile-requested-at"
	// AnnotationKeyOrphanOnDelete lets the deletion of an object that is paused, or waits for a person because of a
	// suspected leak, finish without touching the external resource, if its value is exactly "true" (N31).
	AnnotationKeyOrphanOnDelete = "bowline.dev/orphan-on-delete"
	// AnnotationKeyExternalNameProposed says, if its value is exactly "true", that the external name was proposed by a claim:
	// it names what is to be created and never adopts what exists, since who writes claims has no say over what exists (N6,
	// N24).
	AnnotationKeyExternalNameProposed = "bowline.dev/external-name-proposed"
	// AnnotationKeyAllowedNamespaces on a managed resource lists the namespaces, separated by commas, or * for all, whose
	// claims and targets may have it (N27).
	AnnotationKeyAllowedNamespaces = "bowline.dev/allowed-namespaces"
	// AnnotationKeyClaimKinds on the definition of a class kind lists all claim kinds that its classes are for, each as
	// <kind>.<group> in lower case, separated by commas (N10). Without it the value of LabelKeyClaimKind is the only one.
	AnnotationKeyClaimKinds = "bowline.dev/claim-kinds"
	// AnnotationKeyDefaultClass on a class makes it the default one, if its value is exactly "true" (K28, R252).
	AnnotationKeyDefaultClass = "resourceclass.crossplane.io/is-default-class"
)

// FinalizerClaim is on claims for which something was made or bound, or is about to be, until that was deleted or released (R279,
// 9.1).
const FinalizerClaim = "finalizer.resourceclaim.crossplane.io"

// LabelKeyClaimKind is the label by which definitions of class kinds are found. Its value is the first of the claim kinds that
// the classes are for: a label holds one (N10).
const LabelKeyClaimKind = "bowline.dev/claim-kind"

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

// IsExternalNameProposed is true if a claim proposed the external name, which then never adopts (N6, N24).
func IsExternalNameProposed(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationKeyExternalNameProposed] == "true"
}

// IsPaused is true if the pause annotation has exactly the value "true" (R97).
func IsPaused(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationKeyReconciliationPaused] == "true"
}

// MinPollInterval is the shortest poll interval that an object may ask for.
const MinPollInterval = time.Second

// GetPollInterval returns how often the object asks its external resource to be looked at. It is not ok if the object
// does not ask, or asks for what is no duration of at least MinPollInterval.
func GetPollInterval(o metav1.Object) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(o.GetAnnotations()[AnnotationKeyPollInterval])
	return d, err == nil && d >= MinPollInterval
}

// OrphansOnDelete is true if the object's deletion may finish without touching the external resource (N31).
func OrphansOnDelete(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationKeyOrphanOnDelete] == "true"
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

// AddOwnerReference adds an owner reference, in place of one to the same owner (A21).
func AddOwnerReference(o metav1.Object, owner metav1.OwnerReference) {
	references := slices.Clone(o.GetOwnerReferences())
	for i := range references {
		if references[i].UID == owner.UID {
			references[i] = owner
			o.SetOwnerReferences(references)
			return
		}
	}
	o.SetOwnerReferences(append(references, owner))
}

// HaveSameController is true if both objects are controlled by the same object (R163).
func HaveSameController(a, b metav1.Object) bool {
	of, and := metav1.GetControllerOf(a), metav1.GetControllerOf(b)
	return of != nil && and != nil && of.UID == and.UID
}

// NamespacedNameOf returns the namespace and name that a reference holds (A20).
func NamespacedNameOf(ref *corev1.ObjectReference) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
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
