// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ResourceSpec is the common part of a cluster-scoped managed resource's spec.
type ResourceSpec struct {
	// ManagementPolicies list what the reconciler may do with the external resource: Observe, Create, Update, Delete
	// and LateInitialize, or "*" for everything. An empty list pauses the object.
	// +kubebuilder:default={"*"}
	// +optional
	ManagementPolicies ManagementPolicies `json:"managementPolicies,omitzero"`
	// ProviderConfigReference names the ProviderConfig with the address and credentials of the external system.
	// +kubebuilder:default={"name": "default"}
	// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind == 'ProviderConfig'",message="a cluster-scoped object uses a cluster-scoped ProviderConfig: leave kind out"
	// +optional
	ProviderConfigReference *ProviderConfigReference `json:"providerConfigRef,omitempty"`
	// WriteConnectionSecretToReference names the Secret that receives the connection details of the external
	// resource, such as its endpoint, user name and password. Without it none are published. What the external system
	// returns only once, such as a generated password, is published at creation: name the Secret before, and do not delete
	// it. If you name another Secret later, copy what it lacks from the earlier one.
	// +kubebuilder:validation:XValidation:rule="has(self.name) == has(self.namespace)",message="give both name and namespace of the connection secret, or neither"
	// +optional
	WriteConnectionSecretToReference *SecretReference `json:"writeConnectionSecretToRef,omitempty"`
	// DeletionPolicy is what happens to the external resource when this object is deleted: Delete deletes it too,
	// Orphan leaves it as it is. It is deleted only if managementPolicies and reclaimPolicy permit it too.
	// +kubebuilder:default=Delete
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// RecreatePolicy is what happens if the external resource was deleted outside Bowline: Always creates it again, OnRequest
	// only once a person permits it with the annotation bowline.dev/recreate. Default: OnRequest for kinds whose external
	// resources hold data, which an empty one would lack, else Always.
	// +optional
	RecreatePolicy RecreatePolicy `json:"recreatePolicy,omitempty"`
	// Credentials is when the credentials in the connection Secret are replaced, where the kind can do that. Default: on request.
	// +optional
	Credentials CredentialsPolicy `json:"credentials,omitzero"`
	// ReclaimPolicy is what happens to the external resource when this object is deleted: Delete deletes it too, if
	// the other policies permit it, Retain leaves it as it is. It is also what happens to this object when the claim
	// that it is bound to is deleted.
	// +optional
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// ClaimReference is the claim that this object is bound to.
	// +optional
	ClaimReference *corev1.ObjectReference `json:"claimRef,omitempty"`
	// ClassReference is the class that this object was created from.
	// +optional
	ClassReference *corev1.ObjectReference `json:"classRef,omitempty"`
}

// A NamespacedResourceSpec is the common part of a namespaced managed resource's spec (N2).
type NamespacedResourceSpec struct {
	// ManagementPolicies list what the reconciler may do with the external resource: Observe, Create, Update, Delete
	// and LateInitialize, or "*" for everything. An empty list pauses the object.
	// +kubebuilder:default={"*"}
	// +optional
	ManagementPolicies ManagementPolicies `json:"managementPolicies,omitzero"`
	// ProviderConfigReference names the configuration with the address and credentials of the external system: a
	// ProviderConfig of the same namespace or a ClusterProviderConfig.
	// +kubebuilder:default={"kind": "ClusterProviderConfig", "name": "default"}
	// +optional
	ProviderConfigReference *ProviderConfigReference `json:"providerConfigRef,omitempty"`
	// WriteConnectionSecretToReference names the Secret, in the object's own namespace, that receives the connection
	// details of the external resource. Without it none are published. What the external system returns only once, such
	// as a generated password, is published at creation: name the Secret before, and do not delete it.
	// +kubebuilder:validation:XValidation:rule="!has(self.namespace)",message="the connection secret of a namespaced object is in its own namespace: leave namespace out"
	// +optional
	WriteConnectionSecretToReference *SecretReference `json:"writeConnectionSecretToRef,omitempty"`
	// DeletionPolicy is what happens to the external resource when this object is deleted: Delete deletes it too,
	// Orphan leaves it as it is. It is deleted only if managementPolicies permit it too.
	// +kubebuilder:default=Delete
	// +optional
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
	// RecreatePolicy is what happens if the external resource was deleted outside Bowline: Always creates it again, OnRequest
	// only once a person permits it with the annotation bowline.dev/recreate. Default: OnRequest for kinds whose external
	// resources hold data, which an empty one would lack, else Always.
	// +optional
	RecreatePolicy RecreatePolicy `json:"recreatePolicy,omitempty"`
	// Credentials is when the credentials in the connection Secret are replaced, where the kind can do that. Default: on request.
	// +optional
	Credentials CredentialsPolicy `json:"credentials,omitzero"`
}

// A ResourceStatus is the common part of a managed resource's status.
type ResourceStatus struct {
	ConditionedStatus `json:",inline"`
	// Drift lists the settings in which the external resource differs from this object although the last pass did what
	// it may. Values of secrets are not shown.
	// +listType=atomic
	// +optional
	Drift []FieldDifference `json:"drift,omitempty"`
	// SecretInputs lists the Secrets whose values the external resource was last given.
	// +listType=map
	// +listMapKey=field
	// +optional
	SecretInputs []SecretInput `json:"secretInputs,omitempty"`
	// Credentials report on the rotation of the credentials in the connection Secret.
	// +optional
	Credentials CredentialsStatus `json:"credentials,omitzero"`
	// BindingPhase is whether this object is bound to a claim.
	// +optional
	BindingPhase BindingPhase `json:"bindingPhase,omitempty"`
	// Ownership is which external resource belongs to this object, where the external system stores no ownership labels. Empty after a
	// creation that failed.
	// +optional
	Ownership *Ownership `json:"ownership,omitempty"`
	// ExternalSystem is where the external resource was last found, or where its creation began.
	// +optional
	ExternalSystem ExternalSystem `json:"externalSystem,omitzero"`
	// ExternalIdentity tells the external resource from later ones of the same name.
	// +optional
	ExternalIdentity ExternalIdentity `json:"externalIdentity,omitzero"`
	// LastHandledReconcileAt is the value of annotation crossplane.io/reconcile-requested-at that the last pass handled.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`
}

// An ExternalIdentity tells an external resource from later ones of the same name (N63).
type ExternalIdentity struct {
	// ExternalName of the external resource.
	// +optional
	ExternalName string `json:"externalName,omitempty"`
	// ID that the external system gave to the external resource, and gives to no other one, such as the OID of a database.
	// +optional
	ID string `json:"id,omitempty"`
}

// An ExternalSystem is a server, or an account or project of a cloud (N55).
type ExternalSystem struct {
	// ID of the external system, which its address does not change.
	// +optional
	ID string `json:"id,omitempty"`
	// Name by which people find it, such as its address.
	// +optional
	Name string `json:"name,omitempty"`
}

// String returns both, for people.
func (s ExternalSystem) String() string {
	if s.Name == "" || s.Name == s.ID {
		return s.ID
	}
	return s.Name + " (" + s.ID + ")"
}

// Ownership is the proof that an external resource without labels belongs to its managed resource (N54).
type Ownership struct {
	// ExternalName of the external resource.
	// +optional
	ExternalName string `json:"externalName,omitempty"`
	// ProviderConfigReference is the configuration through which the external resource was created or adopted.
	// +optional
	ProviderConfigReference *ProviderConfigReference `json:"providerConfigRef,omitempty"`
}

// A FieldDifference is a setting in which an external resource differs from its managed resource.
type FieldDifference struct {
	// Path of the field below spec.forProvider, for example scalingConfig[0].maxSize.
	Path string `json:"path"`
	// Desired is the value that the managed resource declares, as JSON.
	// +optional
	Desired string `json:"desired,omitempty"`
	// Observed is the value that the external resource has, as JSON.
	// +optional
	Observed string `json:"observed,omitempty"`
}

// A SecretInput identifies the state of a Secret that an external resource was given. It does not reveal the value.
type SecretInput struct {
	// Field below spec.forProvider that refers to the Secret, for example passwordSecretRef.
	Field string `json:"field"`
	// Version identifies the state of the Secret: its UID and resourceVersion.
	Version string `json:"version"`
}

// A CredentialsPolicy is when credentials are replaced (N50).
// +kubebuilder:validation:XValidation:rule="!has(self.overlap) || has(self.rotateEvery) && duration(self.overlap) < duration(self.rotateEvery)",message="overlap needs rotateEvery and must be less: credentials that are replaced on request end at once"
type CredentialsPolicy struct {
	// RotateEvery is the age at which the credentials are replaced by new ones, such as 720h. Programs must read the connection
	// Secret again then. Default: they are replaced on request only, by the annotation bowline.dev/rotate-credentials-at.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m')",message="rotateEvery must be at least 1m"
	// +optional
	RotateEvery *metav1.Duration `json:"rotateEvery,omitempty"`
	// Overlap is how long the former credentials work beside the new ones after a replacement by age, where the external system can
	// accept both: caches of the favourite cloud. It has no effect elsewhere, such as on databases, which accept one password at a time.
	// A replacement on request ends all former credentials at once. Default: 10m, or half of rotateEvery if that is less.
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="overlap must not be negative"
	// +optional
	Overlap *metav1.Duration `json:"overlap,omitempty"`
}

// A CredentialsStatus reports on the rotation of credentials (N50).
type CredentialsStatus struct {
	// LastRotationTime is when the rotation began that last replaced the credentials in the connection Secret.
	// +optional
	LastRotationTime *metav1.Time `json:"lastRotationTime,omitempty"`
	// LastHandledRequest is the time in annotation bowline.dev/rotate-credentials-at, of the object or its claim, for which the credentials
	// were last replaced.
	// +optional
	LastHandledRequest string `json:"lastHandledRequest,omitempty"`
}
