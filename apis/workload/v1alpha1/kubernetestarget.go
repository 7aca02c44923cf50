// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A KubernetesTargetSpec names the managed resource to connect to.
type KubernetesTargetSpec struct {
	xpv1.TargetSpec `json:",inline"`
	// AllowedKinds lists what applications may have in the cluster: each as <Kind> of the core group, <Kind>.<group>, or *.<group> for all
	// kinds of a group. Copies of Secrets need Secret. Default: all that the credentials permit.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^([A-Za-z][A-Za-z0-9]*(\.[a-z0-9.-]+)?|\*\.[a-z0-9.-]+)$`
	// +listType=set
	// +optional
	AllowedKinds []string `json:"allowedKinds,omitempty"`
	// AllowedNamespaces lists the namespaces of the cluster in which applications may have objects. Objects without a namespace are
	// refused then, except these namespaces themselves. Default: all that the credentials permit.
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +listType=set
	// +optional
	AllowedNamespaces []string `json:"allowedNamespaces,omitempty"`
}

// A KubernetesTarget gives your namespace access to an existing managed resource, usually a Kubernetes cluster for your
// workloads: it copies the connection Secret into your namespace, if the managed resource permits that. Until the copy exists,
// condition Ready shows the reason. Deleting the target deletes the copy, not the managed resource.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=kt
type KubernetesTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec names the managed resource to connect to.
	Spec KubernetesTargetSpec `json:"spec"`

	// Status is the observed state.
	Status xpv1.TargetStatus `json:"status,omitempty"`
}
