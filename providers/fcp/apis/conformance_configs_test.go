// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

// cloudName is how API groups name the cloud.
const cloudName = "fcp"

// configGroup is the group of the provider configurations for kinds of a scope (N16, N35).
func configGroup(namespacedKinds bool) string {
	if namespacedKinds {
		return cloudName + ".m.crossplane.io"
	}
	return cloudName + ".crossplane.io"
}

// belongsToConfig wants the group of a managed kind to be one of the cloud, below that of its configuration.
func belongsToConfig(t *testing.T, k rootKind) {
	service, ok := strings.CutSuffix(k.gvk.Group, "."+configGroup(k.namespaced()))
	if !ok || service == "" || strings.Contains(service, ".") {
		t.Errorf("group %s, want SERVICE.%s", k.gvk.Group, configGroup(k.namespaced()))
	}
}

// Rules that hold for every kind of provider configuration.
func TestConfigKinds(t *testing.T) {
	t.Parallel()
	all := rootKinds(t)
	if got := len(configs(all)) + len(managed(all)) + len(classes(all)); got != len(all) {
		t.Errorf("%d of %d kinds are neither managed nor classes nor provider configurations", len(all)-got, len(all))
	}
	for rule, check := range map[string]func(*testing.T, rootKind){
		"K52 spec embeds ProviderSpec": func(t *testing.T, k rootKind) { embeds[xpv1.ProviderSpec](t, k.part(t, "Spec")) },
		"K53 N2 scope":                 configScope,
		"K54 its group names the cloud": func(t *testing.T, k rootKind) {
			if k.gvk.Group != configGroup(false) && k.gvk.Group != configGroup(true) {
				t.Errorf("group %s", k.gvk.Group)
			}
		},
		"D10 K51 it is called ProviderConfig":          configName,
		"N12 its status counts users":                  countsUsers,
		"K5 status subresource of configurations":      hasStatusSubresource,
		"K7 configurations are root objects":           isRootObject,
		"K8 top struct of configurations":              topStruct,
		"K11 every field of configurations":            isExplained,
		"K14 list kind of configurations":              hasList,
		"T26 plural and singular of configurations":    names,
		"D9 credentials are a namespace, name and key": selectsKey,
	} {
		for _, k := range configs(all) {
			t.Run(rule+" "+k.String(), func(t *testing.T) {
				t.Parallel()
				check(t, k)
			})
		}
	}
}

// configScope wants the configuration of cluster-scoped kinds to be cluster-scoped, as its marker says, and namespaced
// kinds to have one of each scope.
func configScope(t *testing.T, k rootKind) {
	want := apiextensionsv1.ClusterScoped
	if k.gvk.Group == configGroup(true) && k.gvk.Kind == xpv1.ProviderConfigKind {
		want = apiextensionsv1.NamespaceScoped
	}
	if got := k.definition.Spec.Scope; got != want {
		t.Errorf("scope %s, want %s", got, want)
	}
	if k.gvk.Kind == xpv1.ProviderConfigKind && !hasScope(markersOf(t, k), want) {
		t.Errorf("no marker says that it is %s", want)
	}
}

// configName wants ProviderConfig with a ProviderConfigSpec, which managed resources name in providerConfigRef.
func configName(t *testing.T, k rootKind) {
	if k.gvk.Kind != xpv1.ProviderConfigKind && k.gvk.Kind != xpv1.ClusterProviderConfigKind {
		t.Errorf("kind %s", k.gvk.Kind)
	}
	if got := k.part(t, "Spec").Name(); got != "ProviderConfigSpec" {
		t.Errorf("spec of type %s", got)
	}
	for _, m := range managed(rootKinds(t)) {
		if _, ok := m.schema("spec").Properties["providerConfigRef"]; !ok {
			t.Errorf("%s has no providerConfigRef", m)
		}
	}
}

// countsUsers wants the count where people look, and no kind of objects that track use.
func countsUsers(t *testing.T, k rootKind) {
	if got := k.schema("status", "users").Type; got != "integer" {
		t.Errorf("status.users is of type %q", got)
	}
	for _, other := range rootKinds(t) {
		if strings.HasSuffix(other.gvk.Kind, "Usage") {
			t.Errorf("%s tracks use by objects", other)
		}
	}
}

func selectsKey(t *testing.T, k rootKind) {
	for _, name := range []string{"namespace", "name", "key"} {
		if !strings.Contains(fmt.Sprint(k.schema("spec", "credentials", "secretRef").Required), name) {
			t.Errorf("%s is not required", name)
		}
	}
}

// What a person who creates a provider configuration is told.
func TestCreateConfig(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for name, tc := range map[string]struct{ spec, refused string }{
		"K55 D9 a key of a Secret":         {`{projectID: a, credentials: {source: Secret, secretRef: {namespace: a, name: b, key: c}}}`, ""},
		"K55 a place and limits":           {`{projectID: a, endpoint: "https://cloud.example.org", limits: {inFlight: 2}, credentials: {source: None}}`, ""},
		"K55 no Secret":                    {`{projectID: a, credentials: {source: Secret}}`, "source Secret needs secretRef with namespace, name and key"},
		"K55 no credentials":               {`{projectID: a}`, "spec.credentials: Required value"},
		"K55 no project":                   {`{credentials: {source: None}}`, "spec.projectID: Required value"},
		"K55 an endpoint that is no URL":   {`{projectID: a, endpoint: here, credentials: {source: None}}`, "spec.endpoint"},
		"D9 no namespace":                  {`{projectID: a, credentials: {source: Secret, secretRef: {name: b, key: c}}}`, "secretRef.namespace: Required value"},
		"D9 no name":                       {`{projectID: a, credentials: {source: Secret, secretRef: {namespace: a, key: c}}}`, "secretRef.name: Required value"},
		"D9 no key":                        {`{projectID: a, credentials: {source: Secret, secretRef: {namespace: a, name: b}}}`, "secretRef.key: Required value"},
		"D9 not the selector of the guide": {`{projectID: a, secret: {name: b, key: c}, credentials: {source: None}}`, `unknown field "spec.secret"`},
	} {
		for _, k := range configs(rootKinds(t)) {
			t.Run(name+" "+k.String(), func(t *testing.T) {
				t.Parallel()
				u := &unstructured.Unstructured{Object: map[string]any{"spec": parse(t, tc.spec)}}
				u.SetGroupVersionKind(k.gvk)
				u.SetGenerateName(env.Prefix)
				if k.namespaced() {
					u.SetNamespace(env.Namespace)
				}
				err := env.Client.Create(t.Context(), u, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
				checkRefusal(t, err, tc.refused)
			})
		}
	}
}

// Every kind has an endpoint of its own on the server.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	served := map[string]rootKind{}
	for _, k := range rootKinds(t) {
		mapping, err := env.Client.RESTMapper().RESTMapping(k.gvk.GroupKind(), k.gvk.Version)
		if err != nil {
			t.Fatal(err)
		}
		endpoint := mapping.Resource.String()
		if other, ok := served[endpoint]; ok {
			t.Errorf("%s and %s share an endpoint", k, other)
		}
		served[endpoint] = k
		t.Run("K12 "+k.String(), func(t *testing.T) {
			t.Parallel()
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
			if err := env.Client.List(t.Context(), list, client.Limit(1)); err != nil {
				t.Error(err)
			}
			if got := list.GroupVersionKind(); got != k.gvk.GroupVersion().WithKind(k.gvk.Kind+"List") {
				t.Errorf("%s answers %s", endpoint, got)
			}
		})
	}
}

// Which settings exist, are required and are valid is what the provider's definitions say.
func TestSchema(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	kinds := managedKinds()
	for name, tc := range map[string]struct{ kind, forProvider, refused string }{
		"K15 smallest fanciness":    {database, `{fancinessLevel: 10}`, ""},
		"K15 too little fanciness":  {database, `{fancinessLevel: 9}`, "fancinessLevel in body should be greater than or equal to 10"},
		"K15 largest fanciness":     {database, `{fancinessLevel: 1000}`, ""},
		"K15 too much fanciness":    {database, `{fancinessLevel: 1001}`, "fancinessLevel in body should be less than or equal to 1000"},
		"K15 a name that no has":    {database, `{fancinessLevel: 10, name: Orders}`, "name in body should match"},
		"K15 another type":          {database, `{fancinessLevel: many}`, "must be of type integer"},
		"K15 a required setting":    {database, `{version: "15"}`, "spec.forProvider.fancinessLevel is required"},
		"K15 an optional setting":   {database, `{fancinessLevel: 10, version: "15"}`, ""},
		"K15 no such setting":       {database, `{fancinessLevel: 10, mtu: 1500}`, `unknown field "spec.forProvider.mtu"`},
		"K15 smallest MTU":          {clusterNetwork, `{cidrBlock: 10.0.0.0/16, mtu: 576}`, ""},
		"K15 too small an MTU":      {clusterNetwork, `{cidrBlock: 10.0.0.0/16, mtu: 575}`, "mtu in body should be greater than or equal to 576"},
		"K15 nine name servers":     {namespacedNetwork, `{cidrBlock: 10.0.0.0/16, dnsServers: [a, b, c, d, e, f, g, h, i]}`, "dnsServers: Too many: 9"},
		"K15 an empty zone":         {subnet, `{cidrBlock: 10.0.0.0/24, networkId: a, zone: ""}`, "zone in body should be at least 1 chars long"},
		"K15 group of no machines":  {nodeGroup, `{subnetIds: [a], scalingConfig: [{minSize: 0, maxSize: 0}]}`, "maxSize in body should be greater than or equal to 1"},
		"K15 group of few machines": {nodeGroup, `{subnetIds: [a], scalingConfig: [{minSize: 0, maxSize: 1}]}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := kinds[tc.kind].object(t, env, "forProvider: "+tc.forProvider)
			err := env.Client.Create(t.Context(), u, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			checkRefusal(t, err, tc.refused)
		})
	}
}
