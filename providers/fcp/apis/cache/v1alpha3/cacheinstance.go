// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha3

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// CacheInstanceParameters are the settings of a cache.
// https://favourite.example.org/api/v1/cache#Instance
type CacheInstanceParameters struct {
	// Name of the cache in the favourite cloud, unique in its project: 1 to 63 lower case letters, digits and hyphens,
	// starting with a letter and not ending with a hyphen. It cannot change. The annotation crossplane.io/external-name,
	// if set, is used in its place, and without either the name of the object.
	// +bowline:compare=ignore
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	Name *string `json:"name,omitempty"`
	// MemoryMegabytes is the memory limit for data, 8 to 16384 MiB. It changes without a restart. If the data exceeds it,
	// evictionPolicy applies.
	// +bowline:required
	// +optional
	// +kubebuilder:validation:Minimum=8
	// +kubebuilder:validation:Maximum=16384
	MemoryMegabytes *int `json:"memoryMegabytes,omitempty"`
	// EvictionPolicy selects the keys to evict when the memory is full: noeviction (none, writes are refused), or among all keys
	// or those with an expiry (volatile) the least recently used (lru), the least frequently used (lfu), any (random) or the
	// next to expire (ttl). The favourite cloud chooses volatile-lru if it is not set.
	// +optional
	// +kubebuilder:validation:Enum=noeviction;allkeys-lru;allkeys-lfu;allkeys-random;volatile-lru;volatile-lfu;volatile-random;volatile-ttl
	EvictionPolicy *string `json:"evictionPolicy,omitempty"`
	// EngineVersion is the major and minor version of Redis, for example "7.0". The favourite cloud chooses one if it is
	// not set. It cannot change once it is set.
	// +immutable
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	EngineVersion *string `json:"engineVersion,omitempty"`
	// PasswordSecretRef selects the key of the Secret that holds the password that clients need: 8 to 128 characters
	// without control characters. The favourite cloud generates a random one if it is not set. The connection
	// Secret contains it.
	// +optional
	PasswordSecretRef *xpv1.SecretKeySelector `json:"passwordSecretRef,omitempty" connection:"password"`
	// Labels that the cache carries in the favourite cloud, in addition to the ownership labels. Labels
	// that others add are kept.
	// +bowline:labels
	// +optional
	// +kubebuilder:validation:MaxProperties=60
	Labels map[string]string `json:"labels,omitempty"`
}

// CacheInstanceObservation is what the favourite cloud reports of a cache.
type CacheInstanceObservation struct {
	// ID that the favourite cloud assigned to the cache.
	ID int `json:"id,omitempty"`
	// Name of the cache in the favourite cloud.
	Name string `json:"name,omitempty"`
	// Status of the cache: CREATING, ONLINE, UPDATING, DELETING or FAILED.
	Status string `json:"status,omitempty"`
	// Message explains status FAILED.
	Message string `json:"message,omitempty"`
	// MemoryMegabytes is the memory limit for data.
	MemoryMegabytes int `json:"memoryMegabytes,omitempty"`
	// EvictionPolicy that the cache has.
	EvictionPolicy string `json:"evictionPolicy,omitempty"`
	// EngineVersion is the version of Redis that runs.
	EngineVersion string `json:"engineVersion,omitempty"`
	// Hostname under which the cache can be reached.
	Hostname string `json:"hostname,omitempty" connection:"endpoint"`
	// Port on which the cache can be reached.
	Port int `json:"port,omitempty" connection:"port"`
	// Username that the password belongs to. It is the default user of clients that send only a password.
	Username string `json:"username,omitempty" connection:"username"`
	// Labels that the cache carries in the favourite cloud.
	Labels map[string]string `json:"labels,omitempty"`
	// CreatedAt is when the favourite cloud accepted the cache.
	CreatedAt metav1.Time `json:"createdAt,omitempty,omitzero"`
	// PreviousPasswordExpiresAt is until when the password before the last rotation opens the cache, too.
	PreviousPasswordExpiresAt metav1.Time `json:"previousPasswordExpiresAt,omitempty,omitzero"`
}

// A CacheInstance is a cache of the favourite cloud: a Redis server of its own. Connection details are written to the Secret
// that spec.writeConnectionSecretToRef names, under the keys endpoint, port, username and password. The data survives
// restarts, but store only data that can be recomputed.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=fcache
// +bowline:scopes=Cluster
// +bowline:class=RedisCluster.cache.crossplane.io
type CacheInstance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CacheInstanceSpec   `json:"spec"`
	Status CacheInstanceStatus `json:"status,omitempty"`
}
