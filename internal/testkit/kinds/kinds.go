// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds has kinds for tests of provider configurations: a cluster-scoped group with a ProviderConfig and its items, and a
// namespaced group with both kinds of configurations and their items.
//
// Its one idea: every test binary has groups of its own for the same Go types, since all share one API server.
package kinds

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// Groups of the kinds of one test binary.
type Groups struct{ Cluster, Namespaced schema.GroupVersion }

// In returns the groups <of>.test.bowline.dev and <of>.m.test.bowline.dev.
func In(of string) Groups {
	return Groups{
		Cluster:    schema.GroupVersion{Group: of + ".test.bowline.dev", Version: "v1"},
		Namespaced: schema.GroupVersion{Group: of + ".m.test.bowline.dev", Version: "v1"},
	}
}

// ConfigSpec of all configurations.
type ConfigSpec struct {
	xpv1.ProviderSpec `json:",inline"`

	Endpoint string `json:"endpoint,omitempty"`
}

// A Config is a configuration of any kind.
type Config struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ConfigSpec                `json:"spec"`
	Status xpv1.ProviderConfigStatus `json:"status,omitempty"`
}

// SetConditions satisfies resource.Conditioned.
func (c *Config) SetConditions(conditions ...xpv1.Condition) { c.Status.SetConditions(conditions...) }

// GetCondition satisfies resource.Conditioned.
func (c *Config) GetCondition(t xpv1.ConditionType) xpv1.Condition { return c.Status.GetCondition(t) }

// SetUsers satisfies resource.UserCounter.
func (c *Config) SetUsers(n int64) { c.Status.Users = n }

// GetUsers satisfies resource.UserCounter.
func (c *Config) GetUsers() int64 { return c.Status.Users }

// ItemSpec of items in both scopes.
type ItemSpec struct {
	xpv1.ResourceSpec `json:",inline"`

	ForProvider Parameters `json:"forProvider"`
}

// Parameters of an item.
type Parameters struct {
	Size int `json:"size,omitempty"`
}

// ItemStatus of items in both scopes.
type ItemStatus struct {
	xpv1.ResourceStatus `json:",inline"`
}

// A Stock item is an item of any scope.
type Stock struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ItemSpec   `json:"spec"`
	Status ItemStatus `json:"status,omitempty"`
}

// SetConditions satisfies resource.Conditioned.
func (i *Stock) SetConditions(c ...xpv1.Condition) { i.Status.SetConditions(c...) }

// GetCondition satisfies resource.Conditioned.
func (i *Stock) GetCondition(t xpv1.ConditionType) xpv1.Condition { return i.Status.GetCondition(t) }

// SetManagementPolicies satisfies resource.Manageable.
func (i *Stock) SetManagementPolicies(p xpv1.ManagementPolicies) { i.Spec.ManagementPolicies = p }

// GetManagementPolicies satisfies resource.Manageable.
func (i *Stock) GetManagementPolicies() xpv1.ManagementPolicies { return i.Spec.ManagementPolicies }

// SetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (i *Stock) SetProviderConfigReference(r *xpv1.ProviderConfigReference) {
	i.Spec.ProviderConfigReference = r
}

// GetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (i *Stock) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return i.Spec.ProviderConfigReference
}

// SetWriteConnectionSecretToReference satisfies resource.ConnectionSecretWriterTo.
func (i *Stock) SetWriteConnectionSecretToReference(r *xpv1.SecretReference) {
	i.Spec.WriteConnectionSecretToReference = r
}

// GetWriteConnectionSecretToReference satisfies resource.ConnectionSecretWriterTo.
func (i *Stock) GetWriteConnectionSecretToReference() *xpv1.SecretReference {
	return i.Spec.WriteConnectionSecretToReference
}

// Size that the item should have.
func (i *Stock) Size() int { return i.Spec.ForProvider.Size }

// The kinds of the cluster-scoped group.
type (
	// A ProviderConfig is a cluster-scoped configuration.
	ProviderConfig struct{ Config }
	// An Item is a cluster-scoped item.
	Item struct{ Stock }
)

// The kinds of the namespaced group.
type (
	// A TeamProviderConfig has the kind ProviderConfig and is namespaced.
	TeamProviderConfig struct{ Config }
	// A ClusterProviderConfig is a cluster-scoped configuration for namespaced items.
	ClusterProviderConfig struct{ Config }
	// A TeamItem has the kind Item and is namespaced.
	TeamItem struct{ Stock }
)

// A List contains a list of objects of any of the kinds.
type List[T any] struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []T `json:"items"`
}

// DeepCopyObject copies the object.
func (c *ProviderConfig) DeepCopyObject() runtime.Object { return deepCopy(c) }

// DeepCopyObject copies the object.
func (c *TeamProviderConfig) DeepCopyObject() runtime.Object { return deepCopy(c) }

// DeepCopyObject copies the object.
func (c *ClusterProviderConfig) DeepCopyObject() runtime.Object { return deepCopy(c) }

// DeepCopyObject copies the object.
func (i *Item) DeepCopyObject() runtime.Object { return deepCopy(i) }

// DeepCopyObject copies the object.
func (i *TeamItem) DeepCopyObject() runtime.Object { return deepCopy(i) }

// DeepCopyObject copies the list.
func (l *List[T]) DeepCopyObject() runtime.Object { return deepCopy(l) }

// deepCopy copies plain data, fast enough for tests.
func deepCopy[T any](in *T) *T {
	data, err := json.Marshal(in)
	out := new(T)
	if err == nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		panic(err)
	}
	return out
}

// AddToScheme adds the kinds, and those of core that the runtime writes.
func (g Groups) AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(g.Cluster.WithKind("ProviderConfig"), &ProviderConfig{})
	s.AddKnownTypeWithName(g.Cluster.WithKind("ProviderConfigList"), &List[ProviderConfig]{})
	s.AddKnownTypeWithName(g.Cluster.WithKind("Item"), &Item{})
	s.AddKnownTypeWithName(g.Cluster.WithKind("ItemList"), &List[Item]{})
	s.AddKnownTypeWithName(g.Namespaced.WithKind("ProviderConfig"), &TeamProviderConfig{})
	s.AddKnownTypeWithName(g.Namespaced.WithKind("ProviderConfigList"), &List[TeamProviderConfig]{})
	s.AddKnownTypeWithName(g.Namespaced.WithKind("ClusterProviderConfig"), &ClusterProviderConfig{})
	s.AddKnownTypeWithName(g.Namespaced.WithKind("ClusterProviderConfigList"), &List[ClusterProviderConfig]{})
	s.AddKnownTypeWithName(g.Namespaced.WithKind("Item"), &TeamItem{})
	s.AddKnownTypeWithName(g.Namespaced.WithKind("ItemList"), &List[TeamItem]{})
	metav1.AddToGroupVersion(s, g.Cluster)
	metav1.AddToGroupVersion(s, g.Namespaced)
	return corev1.AddToScheme(s)
}
