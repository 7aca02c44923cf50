// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/crds"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

func TestMain(m *testing.M) {
	all, err := crd.Load(crds.FS)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(controlplanetest.Main(m, all...))
}

// Kinds under the names that the tables of this package use.
const (
	database          = "database"
	cache             = "cache"
	clusterNetwork    = "cluster network"
	namespacedNetwork = "network"
	subnet            = "subnet"
	nodeGroup         = "node group"
)

// managedKinds are the provider's managed kinds, each with the smallest spec.forProvider that suffices to create one.
func managedKinds() map[string]managedKind {
	return map[string]managedKind{
		database:          {databasev1alpha3.FavouriteDBInstanceGroupVersionKind, `{fancinessLevel: 10}`},
		cache:             {cachev1alpha3.CacheInstanceGroupVersionKind, `{memoryMegabytes: 8}`},
		clusterNetwork:    {networkv1alpha3.NetworkGroupVersionKind, `{cidrBlock: 10.0.0.0/16}`},
		namespacedNetwork: {namespacednetworkv1alpha3.NetworkGroupVersionKind, `{cidrBlock: 10.0.0.0/16}`},
		subnet:            {namespacednetworkv1alpha3.SubnetGroupVersionKind, `{networkId: net-1, cidrBlock: 10.0.1.0/24}`},
		nodeGroup:         {computev1alpha3.NodeGroupGroupVersionKind, `{subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 4}]}`},
	}
}

type managedKind struct {
	gvk         schema.GroupVersionKind
	forProvider string
}

// namespaced tells the scopes apart by the groups' names.
func (k managedKind) namespaced() bool { return strings.HasSuffix(k.gvk.Group, ".m.crossplane.io") }

// object returns an object of the kind with the spec, which is YAML.
func (k managedKind) object(t *testing.T, env *controlplanetest.Env, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"spec": parse(t, spec)}}
	u.SetGroupVersionKind(k.gvk)
	u.SetGenerateName(env.Prefix)
	if k.namespaced() {
		u.SetNamespace(env.Namespace)
	}
	return u
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return content
}

// checkRefusal wants no error, or one that says what the user needs to know.
func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want refusal: %s", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with %q, want %q", err, want)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	s := newScheme(t)
	for name, k := range managedKinds() {
		t.Run(name+" (A70, A72, K1, R158)", func(t *testing.T) {
			t.Parallel()
			o, err := s.New(k.gvk)
			if err != nil {
				t.Fatal(err)
			}
			checkRoles(t, o, k.namespaced())
			_, refers := o.(resource.ReferenceResolver)
			if want := name == subnet || name == nodeGroup; refers != want {
				t.Errorf("refers to others: %t", refers)
			}
		})
	}
	for _, gvk := range []schema.GroupVersionKind{
		v1alpha3.ProviderConfigGroupVersionKind,
		namespacedv1alpha3.ProviderConfigGroupVersionKind,
		namespacedv1alpha3.ClusterProviderConfigGroupVersionKind,
	} {
		t.Run(gvk.String()+" (A70, A72, K51)", func(t *testing.T) {
			t.Parallel()
			o, err := s.New(gvk)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := o.(resource.ProviderConfig); !ok {
				t.Errorf("%T is no provider configuration", o)
			}
		})
	}
}

// checkRoles wants all roles of package resource that the kind's spec and status have fields for.
func checkRoles(t *testing.T, o runtime.Object, namespaced bool) {
	t.Helper()
	if _, ok := o.(resource.Managed); !ok {
		t.Error("no managed resource")
	}
	if _, ok := o.(interface {
		resource.ConnectionSecretWriterTo
		resource.ProviderConfigReferencer
		resource.Orphanable
		resource.Bindable
		resource.Drifting
		resource.SecretInputRecorder
	}); !ok {
		t.Error("lacks a role")
	}
	_, ok := o.(interface {
		resource.Reclaimer
		resource.ClaimReferencer
		resource.ClassReferencer
	})
	if ok == namespaced {
		t.Errorf("roles of cluster-scoped kinds: %t", ok)
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	all, err := crd.Load(crds.FS)
	if err != nil {
		t.Fatal(err)
	}
	managed := map[schema.GroupKind]string{}
	for _, k := range managedKinds() {
		managed[k.gvk.GroupKind()] = v1alpha3.Group
		if k.namespaced() {
			managed[k.gvk.GroupKind()] = namespacedv1alpha3.Group
		}
	}
	for _, d := range all {
		t.Run(d.Name+" (N29, P90, K11)", func(t *testing.T) {
			t.Parallel()
			config, isManaged := managed[schema.GroupKind{Group: d.Spec.Group, Kind: d.Spec.Names.Kind}]
			if got := d.Labels["bowline.dev/provider-config"]; got != config {
				t.Errorf("label of the provider configuration is %q, want %q", got, config)
			}
			want := "crossplane provider fcp"
			switch {
			case isManaged:
				want = "crossplane managed fcp"
			case strings.HasSuffix(d.Spec.Names.Kind, "Class"):
				want = "class classes"
			}
			if got := strings.Join(d.Spec.Names.Categories, " "); got != want {
				t.Errorf("categories %q, want %q", got, want)
			}
			for _, v := range d.Spec.Versions {
				if v.Schema.OpenAPIV3Schema.Description == "" {
					t.Error("the kind has no description")
				}
				for _, part := range []string{"spec", "specTemplate", "status"} {
					checkDescribed(t, part, v.Schema.OpenAPIV3Schema.Properties[part])
				}
			}
		})
	}
}

// checkDescribed wants a description of every field, for kubectl explain.
func checkDescribed(t *testing.T, path string, p apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for name, field := range p.Properties {
		if field.Description == "" {
			t.Errorf("%s.%s has no description", path, name)
		}
		checkDescribed(t, path+"."+name, field)
	}
	if p.Items != nil && p.Items.Schema != nil {
		checkDescribed(t, path+"[]", *p.Items.Schema)
	}
}

// Each line is what kubectl prints as the head of a table.
func TestColumns(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	config := []string{"Name", "PROJECT", "ENDPOINT", "USERS", "SECRET", "AGE"}
	class := []string{"Name", "PROVIDER-CONFIG", "RECLAIM-POLICY", "MAX", "DEFAULT", "AGE"}
	want := map[schema.GroupVersionKind][]string{
		v1alpha3.ProviderConfigGroupVersionKind:                   config,
		namespacedv1alpha3.ProviderConfigGroupVersionKind:         config,
		namespacedv1alpha3.ClusterProviderConfigGroupVersionKind:  config,
		databasev1alpha3.FavouriteDBInstanceClassGroupVersionKind: class,
		cachev1alpha3.CacheInstanceClassGroupVersionKind:          class,
	}
	for _, k := range managedKinds() {
		want[k.gvk] = []string{"Name", "READY", "SYNCED", "EXTERNAL-NAME", "AGE"}
	}
	for gvk, columns := range want {
		t.Run(gvk.String()+" (K12, T21, T22)", func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(columns, columnsOf(t, env, gvk)); diff != "" {
				t.Errorf("columns -want +got:\n%s", diff)
			}
		})
	}
}

// columnsOf requests a table from the endpoint of a kind.
func columnsOf(t *testing.T, env *controlplanetest.Env, gvk schema.GroupVersionKind) []string {
	t.Helper()
	mapping, err := env.Client.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		t.Fatal(err)
	}
	config := rest.CopyConfig(env.Config)
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/apis", new(gvk.GroupVersion()), scheme.Codecs.WithoutConversion()
	c, err := rest.RESTClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	content, err := c.Get().Resource(mapping.Resource.Resource).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(content, table); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range table.ColumnDefinitions {
		names = append(names, c.Name)
	}
	return names
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for name, k := range managedKinds() {
		t.Run(name+" (R109, T24, N2)", func(t *testing.T) {
			t.Parallel()
			u := k.object(t, env, "forProvider: "+k.forProvider)
			if err := env.Client.Create(t.Context(), u, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			config := "map[name:default]"
			if k.namespaced() {
				config = "map[kind:ClusterProviderConfig name:default]"
			}
			want := fmt.Sprintf("map[deletionPolicy:Delete managementPolicies:[*] providerConfigRef:%s]", config)
			spec := u.Object["spec"].(map[string]any)
			delete(spec, "forProvider")
			if got := fmt.Sprint(spec); got != want {
				t.Errorf("defaults %s, want %s", got, want)
			}
		})
	}
}
