// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// GroupVersionKind of Server.
var GroupVersionKind = schema.GroupVersionKind{Group: "bench.bowline.dev", Version: "v1", Kind: "Server"}

// Resource is the plural under which the API server serves Servers.
const Resource = "servers"

// ServerParameters are the settings of a server.
type ServerParameters struct {
	// Size of the server.
	// +kubebuilder:validation:Minimum=1
	Size int `json:"size"`

	// Region that the server is in. It cannot change.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="region is immutable"
	Region string `json:"region"`
}

// ServerObservation is what the external system reports of a server.
type ServerObservation struct {
	// Size that the server has.
	Size int `json:"size,omitempty"`

	// Address under which the server can be reached.
	Address string `json:"address,omitempty"`
}

// A ServerSpec is the desired state of a server.
type ServerSpec struct {
	xpv1.ResourceSpec `json:",inline"`

	// ForProvider are the settings that the server is kept at.
	ForProvider ServerParameters `json:"forProvider"`
}

// A ServerStatus is the observed state of a server.
type ServerStatus struct {
	xpv1.ResourceStatus `json:",inline"`

	// AtProvider is what the external system last reported.
	AtProvider ServerObservation `json:"atProvider,omitempty"`
}

// A Server is a managed resource whose external system costs nothing but the latency that it is told to have.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,categories={managed}
type Server struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ServerSpec   `json:"spec"`
	Status ServerStatus `json:"status,omitempty"`
}

// ServerList contains a list of Server.
//
// +kubebuilder:object:root=true
type ServerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Server `json:"items"`
}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	gv := GroupVersionKind.GroupVersion()
	s.AddKnownTypes(gv, &Server{}, &ServerList{})
	metav1.AddToGroupVersion(s, gv)
	return nil
}
