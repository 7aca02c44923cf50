// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ResourceClaimSpec is the common part of a claim's spec (K38, A2).
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.resourceRef) || has(self.resourceRef) && self.resourceRef.apiVersion == oldSelf.resourceRef.apiVersion && self.resourceRef.kind == oldSelf.resourceRef.kind && self.resourceRef.name == oldSelf.resourceRef.name && (!has(oldSelf.resourceRef.uid) || has(self.resourceRef.uid) && self.resourceRef.uid == oldSelf.resourceRef.uid)",message="spec.resourceRef is settled: a claim keeps its managed resource. A manifest for kubectl replace needs spec.resourceRef and spec.classRef as they are: use kubectl apply, which keeps them. For another managed resource, delete the claim and make another"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.resourceRef) || !has(oldSelf.classRef) || has(self.classRef) && self.classRef == oldSelf.classRef",message="spec.classRef is settled, since the claim has its managed resource: keep it as it is, which kubectl apply does. For another class, delete the claim and make another"
type ResourceClaimSpec struct {
	// ClassSelector chooses by labels what you get: for example a small or a large database. A class that carries all of these
	// labels is used; an empty selector matches every class. Ask your platform team which labels there are, or list the classes with:
	// kubectl get classes. Without a selector, and without classRef and resourceRef, the default class is used. Once a class is chosen,
	// changes have no effect.
	// +optional
	ClassSelector *metav1.LabelSelector `json:"classSelector,omitempty"`
	// ClassReference names the class that decides what you get. You may leave it out: it is filled in with the class that
	// classSelector chooses, or with the default class.
	// +kubebuilder:validation:XValidation:rule="has(self.apiVersion) && has(self.kind) && has(self.name)",message="a class is named by apiVersion, kind and name"
	// +optional
	ClassReference *corev1.ObjectReference `json:"classRef,omitempty"`
	// ResourceReference names the managed resource that serves this claim. You may leave it out: it is filled in when one was
	// created. Name an existing one to get that one, if the platform team allows your namespace to use it.
	// +kubebuilder:validation:XValidation:rule="has(self.apiVersion) && has(self.kind) && has(self.name)",message="a managed resource is named by apiVersion, kind and name"
	// +optional
	ResourceReference *corev1.ObjectReference `json:"resourceRef,omitempty"`
	// WriteConnectionSecretToReference names the Secret of your namespace for the connection details: it is created when the claim is
	// ready and follows every change, such as a new password. It must not exist before. Without it there is none.
	// +optional
	WriteConnectionSecretToReference *LocalSecretReference `json:"writeConnectionSecretToRef,omitempty"`
}

// A ResourceClaimStatus is the status of a claim.
type ResourceClaimStatus struct {
	ConditionedStatus `json:",inline"`
	// BindingPhase is Unbound while the claim waits, and Bound when it has its managed resource.
	// +optional
	BindingPhase BindingPhase `json:"bindingPhase,omitempty"`
}

// SetBindingPhase sets how far the claim is (A3, K36).
func (s *ResourceClaimStatus) SetBindingPhase(p BindingPhase) { s.BindingPhase = p }

// GetBindingPhase returns how far the claim is.
func (s *ResourceClaimStatus) GetBindingPhase() BindingPhase { return s.BindingPhase }

// A ClassSpecTemplate is the common part of a class: how managed resources are made for claims (K27, A2).
type ClassSpecTemplate struct {
	// WriteConnectionSecretsToNamespace is where the connection Secrets of the managed resources are kept. Teams need no access
	// to it: each claim gets a copy in its own namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	WriteConnectionSecretsToNamespace string `json:"writeConnectionSecretsToNamespace"`
	// ProviderConfigReference names the ProviderConfig that the managed resources use.
	// +kubebuilder:default={"name": "default"}
	// +kubebuilder:validation:XValidation:rule="!has(self.kind) || self.kind == 'ProviderConfig'",message="a cluster-scoped object uses a cluster-scoped ProviderConfig: leave kind out"
	// +optional
	ProviderConfigReference *ProviderConfigReference `json:"providerConfigRef,omitempty"`
	// ReclaimPolicy is what happens to a managed resource, and to its external resource with all data, when the claim is deleted:
	// Delete, the default, deletes both, Retain keeps them for an administrator.
	// +optional
	ReclaimPolicy ReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// RecreatePolicy is what happens if an external resource was deleted outside Bowline: Always creates it again, OnRequest only
	// once a person permits it with the annotation bowline.dev/recreate on the managed resource. Default: OnRequest for kinds whose
	// external resources hold data, which an empty one would lack, else Always.
	// +optional
	RecreatePolicy RecreatePolicy `json:"recreatePolicy,omitempty"`
	// Credentials is when the credentials of the managed resources, and so those of their claims, are replaced, where the kind can do
	// that. Default: on request.
	// +optional
	Credentials CredentialsPolicy `json:"credentials,omitzero"`
	// Claims limits which namespaces may use the class, and how often. Default: no limits.
	// +optional
	Claims ClaimLimits `json:"claims,omitzero"`
}

// A ClassStatus is the status of a class, which shows whether claims can get anything from it (N58).
type ClassStatus struct {
	ConditionedStatus `json:",inline"`
}

// ClaimLimits limit which claims may use a class.
type ClaimLimits struct {
	// NamespaceSelector chooses, by their labels, the namespaces whose claims may use the class. Default: all namespaces.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Max is how many claims may use the class at the same time. Default: no limit.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	// +optional
	Max *int64 `json:"max,omitempty"`
}

// Reasons of a claim's condition Ready beside Available (N10, N17).
const (
	// ReasonNoMatchingClass: no class has the labels asked for, or that there is no default class.
	ReasonNoMatchingClass       ConditionReason = "NoMatchingClass"
	ReasonAmbiguousDefaultClass ConditionReason = "AmbiguousDefaultClass" // there are several default classes
	ReasonClassNotFound         ConditionReason = "ClassNotFound"         // the class that the claim names does not exist
	// ReasonResourceNotFound: the managed resource that the claim names is of a kind that cannot serve it.
	ReasonResourceNotFound ConditionReason = "ResourceNotFound"
	ReasonNotAllowed       ConditionReason = "NotAllowed"   // class or managed resource are not for its namespace
	ReasonLimitReached     ConditionReason = "LimitReached" // as many claims use the class as may
	ReasonBinding          ConditionReason = "Binding"      // the claim waits for its managed resource
	ReasonResourceLost     ConditionReason = "ResourceLost" // the managed resource of a bound claim is gone, or the external one with its data
)

// Waiting reports that a claim cannot be used yet, and why (N10).
func Waiting(reason ConditionReason, message string) Condition {
	return newCondition(TypeReady, corev1.ConditionFalse, reason).WithMessage(message)
}

// A TargetSpec is the common part of a target's spec (K72, K73).
// +kubebuilder:validation:XValidation:rule="self.clusterRef.apiVersion == oldSelf.clusterRef.apiVersion && self.clusterRef.kind == oldSelf.clusterRef.kind && self.clusterRef.name == oldSelf.clusterRef.name && (!has(oldSelf.clusterRef.uid) || has(self.clusterRef.uid) && self.clusterRef.uid == oldSelf.clusterRef.uid)",message="spec.clusterRef is settled: delete the target and make another",fieldPath=".clusterRef"
type TargetSpec struct {
	// ResourceReference names the managed resource that you want to connect to, such as a cluster of the platform team's. You get
	// its connection Secret if your namespace may have it: because a claim of your namespace is bound to it, or because the
	// platform team lists your namespace in its annotation bowline.dev/allowed-namespaces.
	// +kubebuilder:validation:XValidation:rule="has(self.apiVersion) && has(self.kind) && has(self.name) && size(self.kind) > 0 && size(self.name) > 0",message="a managed resource is named by apiVersion, kind and name"
	// +kubebuilder:validation:XValidation:rule="(!has(self.apiVersion) || size(self.apiVersion) <= 253) && (!has(self.kind) || size(self.kind) <= 63) && (!has(self.name) || size(self.name) <= 253) && (!has(self.uid) || size(self.uid) <= 63)",message="no managed resource has an apiVersion, kind, name or uid as long as this"
	ResourceReference *corev1.ObjectReference `json:"clusterRef"`
	// WriteConnectionSecretToReference names the Secret of your namespace for the connection details: it is created as soon as the
	// managed resource has one, and follows every change, such as a new password. It must not exist before. You may leave it out:
	// then the Secret has the UID of the target as its name, which is filled in here.
	// +optional
	WriteConnectionSecretToReference *LocalSecretReference `json:"connectionSecretRef,omitempty"`
}

// A TargetStatus is the status of a target (K74).
type TargetStatus struct {
	ConditionedStatus `json:",inline"`
}

// ReasonConnecting is the reason of a target's condition Ready while there is nothing to copy: the managed resource, or its
// connection Secret, is missing (R301).
const ReasonConnecting ConditionReason = "Connecting"
