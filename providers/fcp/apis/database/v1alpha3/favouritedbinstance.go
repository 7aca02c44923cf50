// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// FavouriteDBInstanceParameters are the settings of a database instance.
// https://favourite.example.org/api/v1/db#Instance
type FavouriteDBInstanceParameters struct {
	// Name of the instance in the favourite cloud, unique in its project: 1 to 63 lower case letters, digits and
	// hyphens, starting with a letter and not ending with a hyphen. It cannot change. The annotation
	// crossplane.io/external-name, if set, is used in its place, and without either the name of the object.
	// +bowline:compare=ignore
	// +bowline:nolint=optional the guides print it as a value, and an empty name is none
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// FancinessLevel is the number of connections that the server allows, 10 to 1000. Changing it restarts the
	// server.
	// +bowline:nolint=optional the guides print it as a value, and less than 10 is none
	// +bowline:required
	// +optional
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=1000
	FancinessLevel int `json:"fancinessLevel,omitempty"`
	// Version of the database engine, for example "15". The favourite cloud chooses one if it is not set. It cannot
	// change once it is set.
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Version *string `json:"version,omitempty"`
	// PasswordSecretRef selects the key of the Secret that holds the password of the server's superuser: 8 to 128
	// characters without control characters. The favourite cloud generates a random one if it is not set. The
	// connection Secret contains it.
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty" connection:"password"`
}

// FavouriteDBInstanceObservation is what the favourite cloud reports of a database instance.
type FavouriteDBInstanceObservation struct {
	// ID that the favourite cloud assigned to the instance.
	ID int `json:"id,omitempty"`
	// Name of the instance in the favourite cloud.
	Name string `json:"name,omitempty"`
	// Status of the instance: CREATING, ONLINE, UPDATING, DELETING or FAILED.
	Status string `json:"status,omitempty"`
	// Message explains status FAILED.
	Message string `json:"message,omitempty"`
	// FancinessLevel that the instance has.
	FancinessLevel int `json:"fancinessLevel,omitempty"`
	// Version of the database engine.
	Version string `json:"version,omitempty"`
	// Hostname under which the database can be reached.
	Hostname string `json:"hostname,omitempty" connection:"endpoint"`
	// Port on which the database can be reached.
	Port int `json:"port,omitempty" connection:"port"`
	// Username of the server's superuser.
	Username string `json:"username,omitempty" connection:"username"`
	// Labels that the instance carries in the favourite cloud.
	Labels map[string]string `json:"labels,omitempty"`
	// CreatedAt is when the favourite cloud accepted the instance.
	CreatedAt metav1.Time `json:"createdAt,omitempty,omitzero"`
}

// A FavouriteDBInstance is a database instance of the favourite cloud: a PostgreSQL server of its own. Connection details
// are written to the Secret that spec.writeConnectionSecretToRef names, under the keys endpoint, port, database, username
// and password.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=fdb
// +bowline:scopes=Cluster
// +bowline:holdsData
// +bowline:class=FancySQLInstance.database.crossplane.io,PostgreSQLInstance.database.crossplane.io
type FavouriteDBInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FavouriteDBInstanceSpec   `json:"spec"`
	Status FavouriteDBInstanceStatus `json:"status,omitempty"`
}
