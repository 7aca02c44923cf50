// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A Conditioned object has conditions.
type Conditioned interface {
	SetConditions(c ...xpv1.Condition)
	GetCondition(ct xpv1.ConditionType) xpv1.Condition
}

// A Manageable object has management policies: what the reconciler may do with its external resource (R108).
type Manageable interface {
	SetManagementPolicies(p xpv1.ManagementPolicies)
	GetManagementPolicies() xpv1.ManagementPolicies
}

// A Managed object represents one external resource (K1, A31). Further capabilities are role interfaces of this package.
type Managed interface {
	client.Object
	Conditioned
	Manageable
}

// A ManagedList is a list of managed resources.
type ManagedList interface {
	client.ObjectList
	GetItems() []Managed
}

// A ConnectionSecretWriterTo can have its connection details published to a Secret that it names.
type ConnectionSecretWriterTo interface {
	SetWriteConnectionSecretToReference(r *xpv1.SecretReference)
	GetWriteConnectionSecretToReference() *xpv1.SecretReference
}

// A ProviderConfigReferencer names the ProviderConfig that it uses.
type ProviderConfigReferencer interface {
	SetProviderConfigReference(p *xpv1.ProviderConfigReference)
	GetProviderConfigReference() *xpv1.ProviderConfigReference
}

// An Orphanable object has a deletion policy for its external resource.
type Orphanable interface {
	SetDeletionPolicy(p xpv1.DeletionPolicy)
	GetDeletionPolicy() xpv1.DeletionPolicy
}

// A Recreatable object has a policy for an external resource that is gone (N38).
type Recreatable interface {
	SetRecreatePolicy(p xpv1.RecreatePolicy)
	GetRecreatePolicy() xpv1.RecreatePolicy
}

// A CredentialRotating object has a policy for the age of its credentials (N50).
type CredentialRotating interface {
	SetCredentialsPolicy(p xpv1.CredentialsPolicy)
	GetCredentialsPolicy() xpv1.CredentialsPolicy
}

// A Reclaimer has a policy for its external resource when it is deleted, and for itself when its claim is deleted.
type Reclaimer interface {
	SetReclaimPolicy(p xpv1.ReclaimPolicy)
	GetReclaimPolicy() xpv1.ReclaimPolicy
}

// A Bindable object can be bound to a claim, or to a managed resource.
type Bindable interface {
	SetBindingPhase(p xpv1.BindingPhase)
	GetBindingPhase() xpv1.BindingPhase
}

// A ClaimReferencer refers to the claim that it is bound to.
type ClaimReferencer interface {
	SetClaimReference(r *corev1.ObjectReference)
	GetClaimReference() *corev1.ObjectReference
}

// A ClassReferencer refers to the class that it was created from.
type ClassReferencer interface {
	SetClassReference(r *corev1.ObjectReference)
	GetClassReference() *corev1.ObjectReference
}

// A ClassSelector selects a class by labels.
type ClassSelector interface {
	SetClassSelector(s *metav1.LabelSelector)
	GetClassSelector() *metav1.LabelSelector
}

// A ManagedResourceReferencer refers to a managed resource.
type ManagedResourceReferencer interface {
	SetResourceReference(r *corev1.ObjectReference)
	GetResourceReference() *corev1.ObjectReference
}

// A LocalConnectionSecretWriterTo can have connection details written to a Secret of its own namespace that it names.
type LocalConnectionSecretWriterTo interface {
	SetWriteConnectionSecretToReference(r *xpv1.LocalSecretReference)
	GetWriteConnectionSecretToReference() *xpv1.LocalSecretReference
}

// A Claim requests a managed resource in provider-independent terms (K30, A32).
type Claim interface {
	client.Object
	Conditioned
	Bindable
	ClassSelector
	ClassReferencer
	ManagedResourceReferencer
	LocalConnectionSecretWriterTo
}

// A ClaimList is a list of claims.
type ClaimList interface {
	client.ObjectList
	GetItems() []Claim
}

// A Class is a template of managed resources for claims (K20, A33).
type Class interface {
	client.Object
	ProviderConfigReferencer
	Reclaimer
	ConnectionSecretsNamespacer
	ClaimLimiter
}

// A ClassList is a list of classes.
type ClassList interface {
	client.ObjectList
	GetItems() []Class
}

// A Target refers to a managed resource, usually a Kubernetes cluster, whose connection Secret is copied to its
// namespace (A30, K74).
type Target interface {
	client.Object
	Conditioned
	ManagedResourceReferencer
	LocalConnectionSecretWriterTo
}

// A TargetList is a list of targets.
type TargetList interface {
	client.ObjectList
	GetItems() []Target
}

// A ConnectionSecretsNamespacer names the namespace for the connection Secrets of managed resources that are created from it.
type ConnectionSecretsNamespacer interface {
	SetWriteConnectionSecretsToNamespace(namespace string)
	GetWriteConnectionSecretsToNamespace() string
}

// A ClaimLimiter limits the claims that may use it.
type ClaimLimiter interface {
	SetClaimLimits(l xpv1.ClaimLimits)
	GetClaimLimits() xpv1.ClaimLimits
}

// A BindableManaged is a managed resource that claims can be bound to: one of a cluster-scoped kind (N28).
type BindableManaged interface {
	Managed
	Bindable
	ClaimReferencer
	ClassReferencer
	Reclaimer
	ConnectionSecretWriterTo
	ProviderConfigReferencer
}

// A ReferenceResolver has fields that refer to other managed resources. ResolveReferences resolves them in memory, by package
// reference (R158). It must read through the given reader, by which the reconciler learns which objects to watch.
type ReferenceResolver interface {
	ResolveReferences(ctx context.Context, c client.Reader) error
}

// A Drifting object lists the fields in which its external resource differs (N8).
type Drifting interface {
	SetDrift(d []xpv1.FieldDifference)
	GetDrift() []xpv1.FieldDifference
}

// A SecretInputRecorder records the versions of the Secrets that were last sent to its external resource (P61).
type SecretInputRecorder interface {
	SetSecretInputs(i []xpv1.SecretInput)
	GetSecretInputs() []xpv1.SecretInput
}

// A UserCounter has the number of objects that use it.
type UserCounter interface {
	SetUsers(n int64)
	GetUsers() int64
}

// A DeletionPauser lists the namespaces whose deletions are paused. A ProviderConfig without pauses all of its deletions instead (N39).
type DeletionPauser interface {
	SetPausedDeletions(p []xpv1.PausedNamespace)
	GetPausedDeletions() []xpv1.PausedNamespace
}

// A ProviderConfig configures access to an external system (K51).
type ProviderConfig interface {
	client.Object
	Conditioned
	UserCounter
}

// A KindedClass names the kind of its managed resources, and the one of its claim kinds that it is for.
type KindedClass interface {
	Class
	GetManagedKind() schema.GroupVersionKind
	GetClaimKind() string
}

// Kinds are managed kinds that are known at run time only: objects of another kind define them, as TerraformProviders do.
type Kinds interface {
	// Kind returns the version of a kind that claims are bound to. It is false for a kind that is none of these.
	Kind(of schema.GroupKind) (schema.GroupVersionKind, bool)
	// Check returns nil for a kind that is served, else a *failure.Error that contains what is missing, for the platform team.
	Check(ctx context.Context, c client.Reader, of schema.GroupKind) error
	// CheckClass is Check for the kind of a class, and for its template.
	CheckClass(ctx context.Context, c client.Client, class Class) error
	// Definer returns an empty object of the kind that defines these, and a predicate for the events of such objects that change what Check
	// and CheckClass return.
	Definer() (client.Object, predicate.Predicate)
	// Group returns the group of the kinds that an object defines.
	Group(definer client.Object) string
}
