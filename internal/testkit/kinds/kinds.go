// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kinds has the shop's configurations and items for tests of providers, in groups of each test binary's own, since all binaries
// share one API server. Their definitions take any spec and status.
package kinds

import (
	"context"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	namespaced "github.com/bowline-dev/bowline/internal/testkit/shop/namespaced"
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

// The kinds of the shop that the tests use.
type (
	// ConfigSpec of all configurations.
	ConfigSpec = shop.ProviderConfigSpec
	// A ProviderConfig is a cluster-scoped configuration.
	ProviderConfig = shop.ProviderConfig
	// An Item is a cluster-scoped item.
	Item = shop.Item
	// A TeamProviderConfig has the kind ProviderConfig and is namespaced.
	TeamProviderConfig = namespaced.ProviderConfig
	// A ClusterProviderConfig is a cluster-scoped configuration for namespaced items.
	ClusterProviderConfig = namespaced.ClusterProviderConfig
	// A TeamItem has the kind Item and is namespaced.
	TeamItem = namespaced.Item
)

// AddToScheme adds the kinds, and those of core that the runtime writes.
func (g Groups) AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(g.Cluster, &ProviderConfig{}, &shop.ProviderConfigList{}, &Item{}, &shop.ItemList{})
	s.AddKnownTypes(g.Namespaced, &TeamProviderConfig{}, &namespaced.ProviderConfigList{}, &TeamItem{}, &namespaced.ItemList{},
		&ClusterProviderConfig{}, &namespaced.ClusterProviderConfigList{})
	metav1.AddToGroupVersion(s, g.Cluster)
	metav1.AddToGroupVersion(s, g.Namespaced)
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
		if err := testkit.Remove(ctx, o.client, &list.Items[i]); err != nil {
			o.t.Error(err)
		}
	}
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
