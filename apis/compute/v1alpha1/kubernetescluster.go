// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A KubernetesClusterSpec is the desired state of a claim.
type KubernetesClusterSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// ClusterVersion is the version of Kubernetes that your application needs, in quotes, for example "1.34". Default:
	// that of the class. If the class sets another version, the claim is refused with a message in its conditions. It cannot
	// change once the claim is bound.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+\.[0-9]+(\.[0-9]+)?$`
	ClusterVersion *string `json:"clusterVersion,omitempty"`
}

// A KubernetesCluster asks for a Kubernetes cluster of your own. Create it in your namespace, and name a Secret in
// writeConnectionSecretToRef: when the claim is ready, the Secret has endpoint and credentials, as a kubeconfig where the
// provider makes one. Until then condition Ready shows the reason.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=k8s
type KubernetesCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is the desired state. All fields are optional.
	Spec KubernetesClusterSpec `json:"spec,omitempty"`

	// Status is the observed state.
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}
