// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import corev1 "k8s.io/api/core/v1"

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
