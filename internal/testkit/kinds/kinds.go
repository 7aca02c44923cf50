// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds has kinds for tests of provider configurations: a cluster-scoped group with a ProviderConfig and its items, and a
// namespaced group with both kinds of configurations and their items.
//
// Its one idea: every test binary has groups of its own for the same Go types, since all share one API server.
package kinds

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

func (c *Config) SetConditions(conditions ...xpv1.Condition)       { c.Status.SetConditions(conditions...) }
func (c *Config) GetCondition(t xpv1.ConditionType) xpv1.Condition { return c.Status.GetCondition(t) }
func (c *Config) SetUsers(n int64)                                 { c.Status.Users = n }
func (c *Config) GetUsers() int64                                  { return c.Status.Users }

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

func (i *Stock) SetConditions(c ...xpv1.Condition)                { i.Status.SetConditions(c...) }
func (i *Stock) GetCondition(t xpv1.ConditionType) xpv1.Condition { return i.Status.GetCondition(t) }
func (i *Stock) SetManagementPolicies(p xpv1.ManagementPolicies)  { i.Spec.ManagementPolicies = p }
func (i *Stock) GetManagementPolicies() xpv1.ManagementPolicies   { return i.Spec.ManagementPolicies }

func (i *Stock) SetProviderConfigReference(r *xpv1.ProviderConfigReference) {
	i.Spec.ProviderConfigReference = r
}

func (i *Stock) GetProviderConfigReference() *xpv1.ProviderConfigReference {
	return i.Spec.ProviderConfigReference
}

func (i *Stock) SetWriteConnectionSecretToReference(r *xpv1.SecretReference) {
	i.Spec.WriteConnectionSecretToReference = r
}

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

func (c *ProviderConfig) DeepCopyObject() runtime.Object        { return deepCopy(c) }
func (c *TeamProviderConfig) DeepCopyObject() runtime.Object    { return deepCopy(c) }
func (c *ClusterProviderConfig) DeepCopyObject() runtime.Object { return deepCopy(c) }
func (i *Item) DeepCopyObject() runtime.Object                  { return deepCopy(i) }
func (i *TeamItem) DeepCopyObject() runtime.Object              { return deepCopy(i) }
func (l *List[T]) DeepCopyObject() runtime.Object               { return deepCopy(l) }

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
	for gvk, o := range map[schema.GroupVersionKind]runtime.Object{
		g.Cluster.WithKind("ProviderConfig"):               &ProviderConfig{},
		g.Cluster.WithKind("ProviderConfigList"):           &List[ProviderConfig]{},
		g.Cluster.WithKind("Item"):                         &Item{},
		g.Cluster.WithKind("ItemList"):                     &List[Item]{},
		g.Namespaced.WithKind("ProviderConfig"):            &TeamProviderConfig{},
		g.Namespaced.WithKind("ProviderConfigList"):        &List[TeamProviderConfig]{},
		g.Namespaced.WithKind("ClusterProviderConfig"):     &ClusterProviderConfig{},
		g.Namespaced.WithKind("ClusterProviderConfigList"): &List[ClusterProviderConfig]{},
		g.Namespaced.WithKind("Item"):                      &TeamItem{},
		g.Namespaced.WithKind("ItemList"):                  &List[TeamItem]{},
	} {
		s.AddKnownTypeWithName(gvk, o)
		metav1.AddToGroupVersion(s, gvk.GroupVersion())
	}
	return corev1.AddToScheme(s)
}

// Definitions of the kinds.
func (g Groups) Definitions() []*apiextensionsv1.CustomResourceDefinition {
	const cluster, namespaced = apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped
	user := func(d *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
		d.Labels = map[string]string{"bowline.dev/provider-config": d.Spec.Group}
		return d
	}
	return []*apiextensionsv1.CustomResourceDefinition{
		Definition(g.Cluster, "ProviderConfig", cluster), user(Definition(g.Cluster, "Item", cluster)),
		Definition(g.Namespaced, "ProviderConfig", namespaced), Definition(g.Namespaced, "ClusterProviderConfig", cluster),
		user(Definition(g.Namespaced, "Item", namespaced)),
	}
}

// Definition of a kind that takes any spec and status.
func Definition(gv schema.GroupVersion, kind string, scope apiextensionsv1.ResourceScope) *apiextensionsv1.CustomResourceDefinition {
	open := true
	object := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &open}
	singular := strings.ToLower(kind)
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
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

// label marks the objects of one test among those of others on a shared API server.
const label = "test.bowline.dev/owner"

// Own creates the objects of one test, which controllers select by Labels.
type Own struct {
	t      testing.TB
	client client.Client
	Labels labels.Set
}

// NewOwn returns the objects of a test with a namespace of its own. Secrets and objects of the groups are deleted when the test
// ends, whatever their finalizers.
func (g Groups) NewOwn(t testing.TB, c client.Client, namespace string) *Own {
	o := &Own{t: t, client: c, Labels: labels.Set{label: namespace}}
	t.Cleanup(func() {
		all := []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind("Secret")}
		for _, d := range g.Definitions() {
			all = append(all, schema.GroupVersionKind{Group: d.Spec.Group, Version: "v1", Kind: d.Spec.Names.Kind})
		}
		for _, kind := range all {
			o.deleteAll(kind)
		}
	})
	return o
}

func (o *Own) deleteAll(kind schema.GroupVersionKind) {
	ctx, list := context.Background(), &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind)
	if err := o.client.List(ctx, list, client.MatchingLabels(o.Labels)); err != nil {
		o.t.Error(err)
	}
	for i := range list.Items {
		Release(ctx, o.client, &list.Items[i])
		_ = o.client.Delete(ctx, &list.Items[i])
	}
}

// Release removes the finalizers of an object.
func Release(ctx context.Context, c client.Client, object client.Object) {
	_ = c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
}

// Meta is the metadata of an object of this test.
func (o *Own) Meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: maps.Clone(o.Labels)}
}

// Create creates objects.
func (o *Own) Create(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		o.do(o.client.Create(o.t.Context(), object))
	}
}

// Delete deletes objects.
func (o *Own) Delete(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		o.do(o.client.Delete(o.t.Context(), object))
	}
}

func (o *Own) do(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// Change patches the latest state of an object.
func (o *Own) Change(object client.Object, change func()) {
	o.t.Helper()
	o.do(o.client.Get(o.t.Context(), client.ObjectKeyFromObject(object), object))
	before := object.DeepCopyObject().(client.Object)
	change()
	o.do(o.client.Patch(o.t.Context(), object, client.MergeFrom(before)))
}
