// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GroupParameters are the settings of a group, the kind of which has the name of a constant that other packages have.
// https://cloud.example.org/docs/groups
type GroupParameters struct {
	// Quotas of the group, by what they limit.
	// +optional
	Quotas map[corev1.ResourceName]string `json:"quotas,omitempty"`
}

// GroupObservation is what the test cloud reports of a group.
type GroupObservation struct {
	// ID of the group.
	ID string `json:"id,omitempty"`
}

// A Group is some of the networks of the test cloud.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type Group struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GroupSpec   `json:"spec"`
	Status GroupStatus `json:"status,omitempty"`
}
