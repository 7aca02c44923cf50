// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A KubernetesTargetSpec says what you want to connect to.
type KubernetesTargetSpec struct {
	xpv1.TargetSpec `json:",inline"`
}

// A KubernetesTarget gives your namespace access to a managed resource that others made, usually a hosted Kubernetes cluster
// that your workloads shall go to: it brings a copy of the connection Secret, if the managed resource may be used by your
// namespace. As long as it may not, or there is nothing to copy yet, the condition Ready says so. Delete the target, and the
// copy goes with it; the managed resource stays as it is.
//
// +kubebuilder:object:root=true
type KubernetesTarget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec says what you want to connect to.
	Spec KubernetesTargetSpec `json:"spec"`

	// Status says whether you can.
	Status xpv1.TargetStatus `json:"status,omitempty"`
}
