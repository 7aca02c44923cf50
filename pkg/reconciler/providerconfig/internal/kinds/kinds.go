// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds has kinds for tests of the provider configuration reconciler: a cluster-scoped group with a
// ProviderConfig and its users, and a namespaced group with both kinds of configurations and their users.
package kinds

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// Groups of the kinds.
var (
	ClusterGroup    = schema.GroupVersion{Group: "pc.test.bowline.dev", Version: "v1"}
	NamespacedGroup = schema.GroupVersion{Group: "pc.m.test.bowline.dev", Version: "v1"}
)

// A Config is what all configurations are.
type Config struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   xpv1.ProviderSpec         `json:"spec"`
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

// A Using is what all users are.
type Using struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec xpv1.ResourceSpec `json:"spec"`
}

// SetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (u *Using) SetProviderConfigReference(r *xpv1.ProviderConfigReference) {
	u.Spec.ProviderConfigReference = r
}

// GetProviderConfigReference satisfies resource.ProviderConfigReferencer.
func (u *Using) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return u.Spec.ProviderConfigReference
}

// The kinds of the cluster-scoped group.
type (
	// A ProviderConfig is a cluster-scoped configuration.
	ProviderConfig struct{ Config }
	// A Thing is a user of ProviderConfig.
	Thing struct{ Using }
)

// The kinds of the namespaced group.
type (
	// A TeamProviderConfig has the kind ProviderConfig and is namespaced.
	TeamProviderConfig struct{ Config }
	// A ClusterProviderConfig is a cluster-scoped configuration for namespaced users.
	ClusterProviderConfig struct{ Config }
	// A TeamThing has the kind Thing and is a user of both.
	TeamThing struct{ Using }
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
func (u *Thing) DeepCopyObject() runtime.Object { return deepCopy(u) }

// DeepCopyObject copies the object.
func (u *TeamThing) DeepCopyObject() runtime.Object { return deepCopy(u) }

// DeepCopyObject copies the list.
func (l *List[T]) DeepCopyObject() runtime.Object { return deepCopy(l) }

// deepCopy copies what is plain data, which for objects of tests is quick enough.
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

// AddToScheme adds the kinds, and those of core that the reconciler writes.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypeWithName(ClusterGroup.WithKind("ProviderConfig"), &ProviderConfig{})
	s.AddKnownTypeWithName(ClusterGroup.WithKind("ProviderConfigList"), &List[ProviderConfig]{})
	s.AddKnownTypeWithName(ClusterGroup.WithKind("Thing"), &Thing{})
	s.AddKnownTypeWithName(ClusterGroup.WithKind("ThingList"), &List[Thing]{})
	s.AddKnownTypeWithName(NamespacedGroup.WithKind("ProviderConfig"), &TeamProviderConfig{})
	s.AddKnownTypeWithName(NamespacedGroup.WithKind("ProviderConfigList"), &List[TeamProviderConfig]{})
	s.AddKnownTypeWithName(NamespacedGroup.WithKind("ClusterProviderConfig"), &ClusterProviderConfig{})
	s.AddKnownTypeWithName(NamespacedGroup.WithKind("ClusterProviderConfigList"), &List[ClusterProviderConfig]{})
	s.AddKnownTypeWithName(NamespacedGroup.WithKind("Thing"), &TeamThing{})
	s.AddKnownTypeWithName(NamespacedGroup.WithKind("ThingList"), &List[TeamThing]{})
	metav1.AddToGroupVersion(s, ClusterGroup)
	metav1.AddToGroupVersion(s, NamespacedGroup)
	return corev1.AddToScheme(s)
}

// CRDs of the kinds, and of kind Stranger in the cluster-scoped group, a user that no scheme knows.
func CRDs() []*apiextensionsv1.CustomResourceDefinition {
	const cluster, namespaced = apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped
	user := func(crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
		crd.Labels = map[string]string{"bowline.dev/provider-config": crd.Spec.Group}
		return crd
	}
	return []*apiextensionsv1.CustomResourceDefinition{
		CRD(ClusterGroup, "ProviderConfig", cluster), user(CRD(ClusterGroup, "Thing", cluster)), user(CRD(ClusterGroup, "Stranger", cluster)),
		CRD(NamespacedGroup, "ProviderConfig", namespaced), CRD(NamespacedGroup, "ClusterProviderConfig", cluster),
		user(CRD(NamespacedGroup, "Thing", namespaced)),
	}
}

// CRD returns the definition of a kind that takes any spec and status.
func CRD(gv schema.GroupVersion, kind string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	open := true
	object := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}
	singular := strings.ToLower(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: singular + "s." + gv.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: gv.Group,
			Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: kind, ListKind: kind + "List", Plural: singular + "s", Singular: singular},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: gv.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type:       "object",
					Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": object, "status": object},
				}},
			}},
		},
	}
}
