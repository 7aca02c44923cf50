// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FavouriteClusterParameters are the settings of a cluster.
// https://favourite.example.org/api/v1/cluster#Cluster
type FavouriteClusterParameters struct {
	// Name of the cluster in the favourite cloud, unique in its project: 1 to 63 lower case letters, digits and hyphens,
	// starting with a letter and not ending with a hyphen. It cannot change. The annotation crossplane.io/external-name,
	// if set, is used in its place, and without either the name of the object.
	// +bowline:compare=ignore
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name *string `json:"name,omitempty"`
	// Version is the minor version of Kubernetes, for example "1.36". The favourite cloud chooses one if it is not set. It
	// cannot change once it is set.
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	Version *string `json:"version,omitempty"`
	// Labels that the cluster carries in the favourite cloud, in addition to the ownership labels. Labels
	// that others add are kept.
	// +bowline:labels
	// +optional
	// +kubebuilder:validation:MaxProperties=60
	Labels map[string]string `json:"labels,omitempty"`
}

// FavouriteClusterObservation is what the favourite cloud reports of a cluster.
type FavouriteClusterObservation struct {
	// ID that the favourite cloud assigned to the cluster.
	ID int `json:"id,omitempty"`
	// Name of the cluster in the favourite cloud.
	Name string `json:"name,omitempty"`
	// Status of the cluster: CREATING, ONLINE, UPDATING, DELETING or FAILED.
	Status string `json:"status,omitempty"`
	// Message explains status FAILED.
	Message string `json:"message,omitempty"`
	// Version of Kubernetes that runs.
	Version string `json:"version,omitempty"`
	// Endpoint is the URL of the API server.
	Endpoint string `json:"endpoint,omitempty" connection:"endpoint"`
	// CertificateAuthority is the certificate that the API server's is signed with.
	CertificateAuthority string `json:"certificateAuthority,omitempty" connection:"clusterCA"`
	// Labels that the cluster carries in the favourite cloud.
	Labels map[string]string `json:"labels,omitempty"`
	// CreatedAt is when the favourite cloud accepted the cluster.
	CreatedAt metav1.Time `json:"createdAt,omitempty,omitzero"`
	// PreviousTokenExpiresAt is until when the token before the last rotation is accepted, too.
	PreviousTokenExpiresAt metav1.Time `json:"previousTokenExpiresAt,omitempty,omitzero"`
}

// A FavouriteCluster is a Kubernetes cluster of the favourite cloud: an API server with its own store, and without nodes, so that no
// pods run. Connection details are written to the Secret that spec.writeConnectionSecretToRef names, under the keys endpoint, clusterCA,
// token and kubeconfig. When the token is rotated in the favourite cloud, the Secret gets the new one at the next poll.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=fcluster
// +bowline:scopes=Cluster
// +bowline:holdsData
// +bowline:class=KubernetesCluster.compute.crossplane.io
type FavouriteCluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FavouriteClusterSpec   `json:"spec"`
	Status FavouriteClusterStatus `json:"status,omitempty"`
}
