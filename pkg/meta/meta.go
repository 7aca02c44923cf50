// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package meta reads and writes the metadata of managed resources: external names, creation annotations, the pause annotation,
// finalizers and owner references. It also defines the labels of external resources.
//
// The functions change objects in memory only. State that must survive a crash is kept in metadata and not in the status, which
// can be lost: above all the times at which a creation began, succeeded and failed. Their order decides whether an external
// resource may exist whose name was not recorded.
package meta

import (
	"fmt"
	"maps"
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
	AnnotationKeyExternalName            = "crossplane.io/external-name"             // in the external system (R62)
	AnnotationKeyExternalCreatePending   = "crossplane.io/external-create-pending"   // when the last creation began (R75)
	AnnotationKeyExternalCreateSucceeded = "crossplane.io/external-create-succeeded" // when a creation last succeeded (R75)
	AnnotationKeyExternalCreateFailed    = "crossplane.io/external-create-failed"    // when a creation last failed (R75)
	AnnotationKeyReconciliationPaused    = "crossplane.io/paused"                    // exactly "true" pauses the object (R96)
	AnnotationKeyPollInterval            = "crossplane.io/poll-interval"             // a Go duration of at least a second
	AnnotationKeyReconcileRequestedAt    = "crossplane.io/reconcile-requested-at"    // a new value triggers a reconciliation
	// AnnotationKeyExternalCreateSystem is the id of the external system in which the last creation began, where the system shows one. It
	// counts until the status records the system (N55).
	AnnotationKeyExternalCreateSystem = "bowline.dev/external-create-system"
	// AnnotationKeyOrphanOnDelete lets the deletion of an object finish in whatever state it is, and orphan the external resource,
	// if its value is exactly "true" (N31).
	AnnotationKeyOrphanOnDelete = "bowline.dev/orphan-on-delete"
	// AnnotationKeyProtect on a managed resource refuses its deletion if its value is exactly "true", also with its claim (N64), and permits
	// it if exactly "false". Default: refused for kinds that hold data, while there is an external resource, unless the claim is deleted. A
	// class gives its own to what it creates (N39).
	AnnotationKeyProtect = "bowline.dev/protect"
	// AnnotationKeyReclaimedFrom is on a managed resource that is about to be deleted with its claim, by the reclaim policy. Its value is
	// the UID of the claim. Admission permits the deletion because of it (N39).
	AnnotationKeyReclaimedFrom = "bowline.dev/reclaimed-from"
	// AnnotationKeyAllowDeletion on a CustomResourceDefinition permits its deletion, which deletes all objects without further checks, if
	// its value is exactly "true" (N39).
	AnnotationKeyAllowDeletion = "bowline.dev/allow-deletion"
	// AnnotationKeyResumeDeletions on a ProviderConfig resumes deletions that were paused before this time, in RFC 3339. All that was
	// deleted until then may go on (N39).
	AnnotationKeyResumeDeletions = "bowline.dev/resume-deletions"
	// AnnotationPrefixResumeDeletions and a namespace are the key of the same for the deletions of that namespace (N39).
	AnnotationPrefixResumeDeletions = "resume-deletions.bowline.dev/"
	// AnnotationKeyRecreate permits once to create an external resource again that held data and is gone. Its value is the UID of the
	// object, or an RFC 3339 time since the last creation (N38).
	AnnotationKeyRecreate = "bowline.dev/recreate"
	// AnnotationKeyAllowReplace permits once to change fields that the external system cannot change, listed as paths below spec.forProvider
	// and separated by commas, by deleting the external resource with its data and creating another one. It is removed once that is created (N97).
	AnnotationKeyAllowReplace = "bowline.dev/allow-replace"
	// AnnotationKeyRestoredAs accepts an external resource that replaced the one which the object had, for example because a person
	// restored its data. Its value is the id of the accepted one, so that it accepts no later one (N63). The id
	// of an external system accepts that one instead of a related one, such as a restored copy of it (N60).
	AnnotationKeyRestoredAs = "bowline.dev/restored-as"
	// AnnotationKeyRotateCredentialsAt on a managed resource requests new credentials, once, at a time in RFC 3339; on a claim, for its
	// managed resource. Credentials that are as new as that time stay (N50).
	AnnotationKeyRotateCredentialsAt = "bowline.dev/rotate-credentials-at"
	// AnnotationKeyClaimRotatesCredentialsAt on a managed resource is the request of its claim, beside its own: neither of the two delays
	// the other, and what the claim withdraws ends here too (N50).
	AnnotationKeyClaimRotatesCredentialsAt = "bowline.dev/claim-rotates-credentials-at"
	// AnnotationKeyCredentialsRotatedAt on a connection Secret is when the last rotation began, in RFC 3339 (N50).
	AnnotationKeyCredentialsRotatedAt = "bowline.dev/credentials-rotated-at"
	// AnnotationKeyCredentialsOverlap on a connection Secret is how long the credentials before the last rotation were to work beside
	// the new ones, as a Go duration (N59).
	AnnotationKeyCredentialsOverlap = "bowline.dev/credentials-overlap"
	// AnnotationKeyTakeOverFrom permits to take over the external resource of another object. Its value is the UID in the ownership label
	// of that resource, so that the permission ends with the takeover (N48).
	AnnotationKeyTakeOverFrom = "bowline.dev/take-over-from"
	// AnnotationKeyExternalNameProposed, if its value is exactly "true", marks an external name that a claim proposed. It never
	// adopts an existing resource, over which authors of claims have no authority (N6, N24).
	AnnotationKeyExternalNameProposed = "bowline.dev/external-name-proposed"
	// AnnotationKeyAllowedNamespaces on a managed resource lists the namespaces, separated by commas, or * for all, whose claims may
	// bind it and whose targets get its connection Secret, whichever claim it is bound to (N27).
	AnnotationKeyAllowedNamespaces = "bowline.dev/allowed-namespaces"
	// AnnotationKeyClaimKinds on the CRD of a class kind lists the claim kinds of its classes, each as <kind>.<group> in lower
	// case, separated by commas (N10). Default: the value of LabelKeyClaimKind.
	AnnotationKeyClaimKinds = "bowline.dev/claim-kinds"
	// AnnotationKeyDefaultClass on a class marks the default class, if its value is exactly "true" (K28, R252).
	AnnotationKeyDefaultClass = "resourceclass.crossplane.io/is-default-class"
)

// AnnotationPrefixInUse begins the annotations of a Secret that name the ProviderConfigs that use it: the key ends in the UID, the value
// is <Kind>.<group> and the name (N29, N39).
const AnnotationPrefixInUse = "in-use.bowline.dev/"

// UsersOf returns the ProviderConfigs that use a Secret, sorted, for people.
func UsersOf(secret metav1.Object) (users []string) {
	for key, value := range secret.GetAnnotations() {
		if strings.HasPrefix(key, AnnotationPrefixInUse) {
			users = append(users, value)
		}
	}
	slices.Sort(users)
	return users
}

// FinalizerClaim is on claims with a managed resource, or about to have one, until it is deleted or released (R279, 9.1).
const FinalizerClaim = "finalizer.resourceclaim.crossplane.io"

// LabelKeyHoldsData is "true" on the CRDs of managed kinds in whose external resources people store data (N62).
const LabelKeyHoldsData = "bowline.dev/holds-data"

// SecretTypeState is the type of the Secrets with states of Terraform kinds, to which no object may refer.
const SecretTypeState corev1.SecretType = "terraform.bowline.dev/state"

// LabelKeyClaimKind selects the CRDs of class kinds. Its value is the first of the claim kinds (N10).
const LabelKeyClaimKind = "bowline.dev/claim-kind"

// Labels of external resources whose systems support labels or tags. The keys have no dots or slashes, which not all systems
// permit (P13).
const (
	ExternalLabelKind     = "crossplane-kind"     // as <kind>.<group> in lower case; informational (P12)
	ExternalLabelName     = "crossplane-name"     // of the managed resource; informational (P11)
	ExternalLabelProvider = "crossplane-provider" // name of the ProviderConfig; informational (P11)
	ExternalLabelUID      = "bowline-uid"         // of the managed resource, which proves ownership (N23)
	// ExternalLabelNamespace is the namespace of the managed resource, if it has one. Objects of that namespace may adopt the
	// external resource (N48).
	ExternalLabelNamespace = "bowline-namespace"
)

// GetExternalName returns the external name, or an empty string if there is none yet.
func GetExternalName(o metav1.Object) string { return o.GetAnnotations()[AnnotationKeyExternalName] }

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

// GetPollInterval returns the poll interval of the object. It is not ok if there is none, or it is not a duration of at least
// MinPollInterval.
func GetPollInterval(o metav1.Object) (d time.Duration, ok bool) {
	d, err := time.ParseDuration(o.GetAnnotations()[AnnotationKeyPollInterval])
	return d, err == nil && d >= MinPollInterval
}

// IsProtected is true if people protect the object from deletion, also from that of its claim (N64).
func IsProtected(o metav1.Object) bool { return o.GetAnnotations()[AnnotationKeyProtect] == "true" }

// OrphansOnDelete is true if the object's deletion orphans the external resource (N31).
func OrphansOnDelete(o metav1.Object) bool {
	return o.GetAnnotations()[AnnotationKeyOrphanOnDelete] == "true"
}

// IgnoredAnnotations describes annotations of ours whose value has no effect although its author meant it to have one.
func IgnoredAnnotations(o metav1.Object) (described []string) {
	annotations := o.GetAnnotations()
	for _, key := range []string{AnnotationKeyReconciliationPaused, AnnotationKeyOrphanOnDelete, AnnotationKeyProtect} {
		if value := annotations[key]; value != "" && value != "true" && value != "false" {
			described = append(described, fmt.Sprintf("Annotation %s is %.40q and has no effect: set it to \"true\" or \"false\", or remove it.", key, value))
		}
	}
	value, set := annotations[AnnotationKeyPollInterval]
	if _, ok := GetPollInterval(o); set && !ok {
		described = append(described, fmt.Sprintf("Annotation %s is %.40q and has no effect: set it to a duration of at least %s, such as 5m.",
			AnnotationKeyPollInterval, value, MinPollInterval))
	}
	resumes := ResumeAnnotations(o)
	for _, key := range slices.Sorted(maps.Keys(resumes)) {
		if resumes[key] != "" && resumedAt(o, key).IsZero() {
			described = append(described, fmt.Sprintf("Annotation %s is %.40q and has no effect: set it to the present time, such as "+
				"2026-01-02T15:04:05Z.", key, resumes[key]))
		}
	}
	if ignored := IgnoredRotation(o); ignored != "" {
		described = append(described, ignored)
	}
	return described
}

// SetReclaimedFrom permits the deletion of a managed resource whose claim was deleted.
func SetReclaimedFrom(o metav1.Object, claim types.UID) {
	setAnnotation(o, AnnotationKeyReclaimedFrom, string(claim))
}

// RemoveClaimRequests removes what the claim of a managed resource that is kept without it asked for: a deletion, a rotation.
func RemoveClaimRequests(o metav1.Object) {
	removeAnnotation(o, AnnotationKeyReclaimedFrom)
	removeAnnotation(o, AnnotationKeyClaimRotatesCredentialsAt)
}

// IgnoredRotation describes a request for new credentials without a time, empty if there is none.
func IgnoredRotation(o metav1.Object) string {
	value := o.GetAnnotations()[AnnotationKeyRotateCredentialsAt]
	if value == "" || !GetRotateCredentialsAt(o).IsZero() {
		return ""
	}
	return fmt.Sprintf("Annotation %s is %.40q and has no effect: set it to a time such as 2026-01-02T15:04:05Z.",
		AnnotationKeyRotateCredentialsAt, value)
}

// GetRotateCredentialsAt returns when the credentials are to be rotated, in whole seconds, or the zero time.
func GetRotateCredentialsAt(o metav1.Object) time.Time {
	return annotatedTime(o, AnnotationKeyRotateCredentialsAt).Truncate(time.Second)
}

// RotationRequests returns when the credentials of a managed resource are to be rotated: as it requests itself, and as its claim does.
func RotationRequests(o metav1.Object) (requests []time.Time) {
	for _, key := range []string{AnnotationKeyRotateCredentialsAt, AnnotationKeyClaimRotatesCredentialsAt} {
		if at := annotatedTime(o, key).Truncate(time.Second); !at.IsZero() {
			requests = append(requests, at)
		}
	}
	return requests
}

// SetClaimRotatesCredentialsAt has a managed resource show the request of its claim, or that there is none.
func SetClaimRotatesCredentialsAt(o metav1.Object, request string) {
	if request == "" {
		removeAnnotation(o, AnnotationKeyClaimRotatesCredentialsAt)
		return
	}
	setAnnotation(o, AnnotationKeyClaimRotatesCredentialsAt, request)
}

// SetRotateCredentialsAt requests that the credentials are rotated at a time.
func SetRotateCredentialsAt(o metav1.Object, at time.Time) {
	setAnnotatedTime(o, AnnotationKeyRotateCredentialsAt, at)
}

// GetCredentialsRotatedAt returns when the last rotation of the credentials in a connection Secret began, or the zero time.
func GetCredentialsRotatedAt(secret metav1.Object) time.Time {
	return annotatedTime(secret, AnnotationKeyCredentialsRotatedAt)
}

// WasDeleted is true if the object has a deletion timestamp.
func WasDeleted(o metav1.Object) bool { return !o.GetDeletionTimestamp().IsZero() }

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

// AsController returns an owner reference to the object as controller. It does not block the owner's deletion.
func AsController(o metav1.Object, of schema.GroupVersionKind) metav1.OwnerReference {
	apiVersion, kind := of.ToAPIVersionAndKind()
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: new(true)}
}

// AddOwnerReference adds an owner reference, or replaces the one to the same owner (A21).
func AddOwnerReference(o metav1.Object, owner metav1.OwnerReference) {
	references := slices.Clone(o.GetOwnerReferences())
	i := slices.IndexFunc(references, func(r metav1.OwnerReference) bool { return r.UID == owner.UID })
	if i < 0 {
		references = append(references, owner)
	} else {
		references[i] = owner
	}
	o.SetOwnerReferences(references)
}

// HaveSameController is true if both objects are controlled by the same object (R163).
func HaveSameController(a, b metav1.Object) bool {
	of, and := metav1.GetControllerOf(a), metav1.GetControllerOf(b)
	return of != nil && and != nil && of.UID == and.UID
}

// NamespacedNameOf returns the namespace and name in a reference (A20).
func NamespacedNameOf(ref *corev1.ObjectReference) types.NamespacedName {
	return types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// GetExternalLabels returns the labels for the external resource of the managed resource (P10, N23).
func GetExternalLabels(o metav1.Object, kind schema.GroupKind, providerConfig string) map[string]string {
	labels := map[string]string{
		ExternalLabelKind:     strings.ToLower(kind.String()),
		ExternalLabelName:     o.GetName(),
		ExternalLabelProvider: providerConfig,
		ExternalLabelUID:      string(o.GetUID()),
	}
	if namespace := o.GetNamespace(); namespace != "" {
		labels[ExternalLabelNamespace] = namespace
	}
	return labels
}

func removeAnnotation(o metav1.Object, key string) {
	annotations := maps.Clone(o.GetAnnotations())
	delete(annotations, key)
	o.SetAnnotations(annotations)
}

func setAnnotation(o metav1.Object, key, value string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	o.SetAnnotations(annotations)
}

// Annotations that permit copying the content of a Secret to another. Both Secrets must have them, with UIDs (R289, R290).
const (
	AnnotationKeyPropagateFromNamespace = "from.propagate.crossplane.io/namespace" // of the source, on the destination
	AnnotationKeyPropagateFromName      = "from.propagate.crossplane.io/name"
	AnnotationKeyPropagateFromUID       = "from.propagate.crossplane.io/uid"
	// AnnotationPrefixPropagateTo and the UID of a destination are a key on the source; the value is <namespace>/<name>.
	AnnotationPrefixPropagateTo = "to.propagate.crossplane.io/"
)

// A PropagationSource is the source in the annotations of a destination.
type PropagationSource struct {
	types.NamespacedName
	UID types.UID
}

// AllowPropagation permits, on both objects in memory, copying from one to the other (A21). Both must exist and have UIDs.
func AllowPropagation(from, to metav1.Object) {
	AllowPropagationFrom(to, from)
	AllowPropagationTo(from, to)
}

// AllowPropagationFrom records the source on the destination.
func AllowPropagationFrom(to, from metav1.Object) {
	setAnnotation(to, AnnotationKeyPropagateFromNamespace, from.GetNamespace())
	setAnnotation(to, AnnotationKeyPropagateFromName, from.GetName())
	setAnnotation(to, AnnotationKeyPropagateFromUID, string(from.GetUID()))
}

// AllowPropagationTo records the destination on the source.
func AllowPropagationTo(from, to metav1.Object) {
	setAnnotation(from, AnnotationPrefixPropagateTo+string(to.GetUID()), to.GetNamespace()+"/"+to.GetName())
}

// ForbidPropagationTo reverts AllowPropagationTo.
func ForbidPropagationTo(from metav1.Object, to types.UID) {
	annotations := maps.Clone(from.GetAnnotations())
	delete(annotations, AnnotationPrefixPropagateTo+string(to))
	from.SetAnnotations(annotations)
}

// PropagatesTo returns the permitted destinations by UID (R291).
func PropagatesTo(from metav1.Object) map[types.UID]types.NamespacedName {
	destinations := map[types.UID]types.NamespacedName{}
	for key, value := range from.GetAnnotations() {
		uid, ok := strings.CutPrefix(key, AnnotationPrefixPropagateTo)
		namespace, name, named := strings.Cut(value, "/")
		if ok && named && uid != "" && namespace != "" && name != "" {
			destinations[types.UID(uid)] = types.NamespacedName{Namespace: namespace, Name: name}
		}
	}
	return destinations
}

// PropagatedFrom returns the source of a destination. It is not ok unless namespace, name and UID are recorded.
func PropagatedFrom(to metav1.Object) (source PropagationSource, ok bool) {
	a := to.GetAnnotations()
	source.Namespace, source.Name = a[AnnotationKeyPropagateFromNamespace], a[AnnotationKeyPropagateFromName]
	source.UID = types.UID(a[AnnotationKeyPropagateFromUID])
	return source, source.Namespace != "" && source.Name != "" && source.UID != ""
}

// PropagationAllowed is true if both objects permit the copy (R289).
func PropagationAllowed(from, to metav1.Object) bool {
	source, ok := PropagatedFrom(to)
	if !ok || source.UID != from.GetUID() || source.Namespace != from.GetNamespace() || source.Name != from.GetName() {
		return false
	}
	destination, ok := PropagatesTo(from)[to.GetUID()]
	return ok && destination == types.NamespacedName{Namespace: to.GetNamespace(), Name: to.GetName()}
}

// GetExternalCreatePending returns when the last creation began, or the zero time.
func GetExternalCreatePending(o metav1.Object) time.Time {
	return annotatedTime(o, AnnotationKeyExternalCreatePending)
}

// GetExternalCreateSucceeded returns when a creation last succeeded, or the zero time.
func GetExternalCreateSucceeded(o metav1.Object) time.Time {
	return annotatedTime(o, AnnotationKeyExternalCreateSucceeded)
}

// GetExternalCreateFailed returns when a creation last failed, or the zero time.
func GetExternalCreateFailed(o metav1.Object) time.Time {
	return annotatedTime(o, AnnotationKeyExternalCreateFailed)
}

// SetExternalCreatePending records that a creation begins. Times have a precision of one second, so the time is later than any
// result before: neither a fast retry nor a clock that was set back can hide a creation without a recorded result (N25).
func SetExternalCreatePending(o metav1.Object, now time.Time) {
	setAnnotatedTime(o, AnnotationKeyExternalCreatePending, later(now, lastResult(o).Add(time.Second)))
	endPermission(o)
}

// SetExternalCreateSystem records in which external system a creation begins, empty where that shows no id.
func SetExternalCreateSystem(o metav1.Object, id string) {
	if id == "" {
		removeAnnotation(o, AnnotationKeyExternalCreateSystem)
	} else {
		setAnnotation(o, AnnotationKeyExternalCreateSystem, id)
	}
}

// SetExternalCreateSucceeded records that the pending creation succeeded, no earlier than it began (N25).
func SetExternalCreateSucceeded(o metav1.Object, now time.Time) {
	setAnnotatedTime(o, AnnotationKeyExternalCreateSucceeded, later(now, GetExternalCreatePending(o)))
	endPermission(o)
}

// SetExternalCreateFailed records that the pending creation failed, no earlier than it began (N25).
func SetExternalCreateFailed(o metav1.Object, now time.Time) {
	setAnnotatedTime(o, AnnotationKeyExternalCreateFailed, later(now, GetExternalCreatePending(o)))
}

// ExternalCreateIncomplete is true if a creation began and its result was not recorded: the external resource may exist under an
// unknown name (R82, R83).
func ExternalCreateIncomplete(o metav1.Object) bool {
	pending := GetExternalCreatePending(o)
	return !pending.IsZero() && pending.After(lastResult(o))
}

// ExternalCreateUnacknowledged is true if a creation began and none succeeded since, whether it failed or its result
// is unknown.
func ExternalCreateUnacknowledged(o metav1.Object) bool {
	return GetExternalCreatePending(o).After(GetExternalCreateSucceeded(o))
}

// CreationToken returns an idempotency token for creating the external resource. It is derived from the object's UID and changes
// only when a creation is recorded as succeeded, so that a resource that was deleted outside can be created again (N22).
func CreationToken(o metav1.Object) string {
	succeeded := GetExternalCreateSucceeded(o)
	if succeeded.IsZero() {
		return string(o.GetUID())
	}
	return fmt.Sprintf("%s-%d", o.GetUID(), succeeded.Unix())
}

func lastResult(o metav1.Object) time.Time {
	return later(GetExternalCreateSucceeded(o), GetExternalCreateFailed(o))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// annotatedTime treats an annotation that is not an RFC 3339 time as absent: a user that empties it means to remove it.
func annotatedTime(o metav1.Object, key string) (t time.Time) {
	if value := o.GetAnnotations()[key]; value != "" { // most are absent, and the error would be the dearest part of a poll
		t, _ = time.Parse(time.RFC3339, value)
	}
	return t
}

func setAnnotatedTime(o metav1.Object, key string, t time.Time) {
	setAnnotation(o, key, t.UTC().Format(time.RFC3339))
}
