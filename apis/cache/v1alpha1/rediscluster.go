// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A RedisClusterSpec is what you ask for.
type RedisClusterSpec struct {
	xpv1.ResourceClaimSpec `json:",inline"`

	// EngineVersion is the version of Redis that your application needs, in quotes, for example "7.2". Without
	// it you get the one that the class stands for. If that stands for another one, the claim says so, and nothing is
	// made. It cannot change once there is something behind the claim.
	// +immutable
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+){0,2}$`
	EngineVersion *string `json:"engineVersion,omitempty"`
}

// A RedisCluster asks for a Redis cache of your own. Create it in your namespace, and name a Secret in
// writeConnectionSecretToRef: when the claim is ready, that holds endpoint, port and, where the cache wants one, password.
// As long as it is not, the condition Ready says what it waits for. Do not keep in it what you cannot compute again.
//
// +kubebuilder:object:root=true
type RedisCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Spec is what you ask for. All of it may be left out.
	Spec RedisClusterSpec `json:"spec,omitempty"`

	// Status is how far it is.
	Status xpv1.ResourceClaimStatus `json:"status,omitempty"`
}
