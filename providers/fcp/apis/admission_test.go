// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

// Kinds under the names that the tables use.
const (
	database          = "database"
	cache             = "cache"
	clusterNetwork    = "cluster network"
	namespacedNetwork = "network"
	subnet            = "subnet"
	nodeGroup         = "node group"
)

func managedKinds() map[string]schema.GroupVersionKind {
	return map[string]schema.GroupVersionKind{
		database:          databasev1alpha3.FavouriteDBInstanceGroupVersionKind,
		cache:             cachev1alpha3.CacheInstanceGroupVersionKind,
		clusterNetwork:    networkv1alpha3.NetworkGroupVersionKind,
		namespacedNetwork: namespacednetworkv1alpha3.NetworkGroupVersionKind,
		subnet:            namespacednetworkv1alpha3.SubnetGroupVersionKind,
		nodeGroup:         computev1alpha3.NodeGroupGroupVersionKind,
	}
}

// newUnstructured returns an object of a kind with the spec, which is YAML.
func newUnstructured(t *testing.T, env *controlplanetest.Env, gvk schema.GroupVersionKind, spec string) *unstructured.Unstructured {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatalf("%v in %s", err, spec)
	}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	u.SetGroupVersionKind(gvk)
	u.SetGenerateName(env.Prefix)
	if namespaced, err := env.Client.IsObjectNamespaced(u); err != nil {
		t.Fatal(err)
	} else if namespaced {
		u.SetNamespace(env.Namespace)
	}
	return u
}

// checkRefusal expects no error, or one with a text.
func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("got error %v, want %q", err, want)
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for name, tc := range map[string]struct{ kind, spec, refused string }{
		"database without fanciness (R147)":   {database, `{forProvider: {name: a}}`, "spec.forProvider.fancinessLevel is required, there or in spec.initProvider, unless managementPolicies exclude Create and Update"},
		"network without range (R147)":        {namespacedNetwork, `{forProvider: {}}`, "spec.forProvider.cidrBlock is required"},
		"subnet without range (R147)":         {subnet, `{forProvider: {networkId: net-1}}`, "spec.forProvider.cidrBlock is required"},
		"database observed (O32)":             {database, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"network observed (O32)":              {namespacedNetwork, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"paused by an empty list (O32, R118)": {nodeGroup, `{forProvider: {}, managementPolicies: []}`, ""},
		"subnet without network (R171)":       {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24}}`, "one of spec.forProvider.networkId, networkIdRef or networkIdSelector is required"},
		"subnet by value (R158, R160)":        {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkId: net-1}}`, ""},
		"subnet by ref (R158, R171)":          {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkIdRef: {name: a}}}`, ""},
		"subnet by selector (R158, R171)":     {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkIdSelector: {matchLabels: {a: b}, matchControllerRef: true}}}`, ""},
		"node group without subnets (R171)":   {nodeGroup, `{forProvider: {scalingConfig: [{minSize: 1, maxSize: 2}]}}`, "one of spec.forProvider.subnetIds, subnetIdRefs or subnetIdSelector is required"},
		"node group by refs (R170, R171)":     {nodeGroup, `{forProvider: {subnetIdRefs: [{name: a}, {name: b}], scalingConfig: [{minSize: 1, maxSize: 2}]}}`, ""},
		"node group by selector (R170, R171)": {nodeGroup, `{forProvider: {subnetIdSelector: {}, scalingConfig: [{minSize: 1, maxSize: 2}]}}`, ""},
		"all in initProvider (R147)":          {nodeGroup, `{forProvider: {}, initProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}]}}`, ""},
		"split over both (R147, R141)":        {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1}]}, initProvider: {scalingConfig: [{maxSize: 2}]}}`, ""},
		"largest size in neither (R147)":      {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1}]}, initProvider: {scalingConfig: [{desiredSize: 2}]}}`, "spec.forProvider.scalingConfig[0].maxSize is required, there or in spec.initProvider"},
		"empty entry (P34, P35)":              {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}], repair: {}}}`, "spec.forProvider.repair.enabled: Required value"},
		"entry that says no (P34)":            {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}], repair: {enabled: false}}}`, ""},
		"settings may be left out (P33)":      {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}], upgrade: {}}}`, ""},
		"no reports among settings (P32)":     {nodeGroup, `{forProvider: {upgrade: {version: a}}, managementPolicies: [Observe]}`, `unknown field "spec.forProvider.upgrade.version"`},
		"unknown strategy of an upgrade":      {nodeGroup, `{forProvider: {upgrade: {strategy: NEVER}}, managementPolicies: [Observe]}`, `Unsupported value: "NEVER"`},
		"two scaling configs (N33)":           {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}, {}]}}`, "spec.forProvider.scalingConfig: Too many: 2"},
		"ref that follows its target (N33)":   {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkIdRef: {name: a, policy: {resolve: Always}}}}`, "policy.resolve must not be Always"},
		"list selector that follows (N33)":    {nodeGroup, `{forProvider: {subnetIdSelector: {policy: {resolve: Always}}, scalingConfig: [{minSize: 1, maxSize: 2}]}}`, "policy.resolve must not be Always"},
		"unknown action (R116)":               {subnet, `{forProvider: {}, managementPolicies: [Observe, Destroy]}`, `Unsupported value: "Destroy"`},
		"database without a name (D19)":       {database, `{forProvider: {fancinessLevel: 10}}`, ""},
		"cache without memory (R147)":         {cache, `{forProvider: {}}`, "spec.forProvider.memoryMegabytes is required"},
		"cache with all":                      {cache, `{forProvider: {name: a, memoryMegabytes: 16384, evictionPolicy: allkeys-lru, engineVersion: "7.0", labels: {a: b}}}`, ""},
		"too little memory":                   {cache, `{forProvider: {memoryMegabytes: 7}}`, "memoryMegabytes in body should be greater than or equal to 8"},
		"no such policy":                      {cache, `{forProvider: {memoryMegabytes: 8, evictionPolicy: lru}}`, `Unsupported value: "lru"`},
		"password of a cache (P60)":           {cache, `{forProvider: {memoryMegabytes: 8, passwordSecretRef: {namespace: a, name: b, key: c}}}`, ""},
		"password of a database (P60)":        {database, `{forProvider: {fancinessLevel: 10, passwordSecretRef: {namespace: a, name: b, key: c}}}`, ""},
		"password without a key (P60)":        {database, `{forProvider: {fancinessLevel: 10, passwordSecretRef: {namespace: a, name: b}}}`, "spec.forProvider.passwordSecretRef.key: Required value"},
		"overlap (N59)":                       {cache, `{forProvider: {memoryMegabytes: 8}, credentials: {rotateEvery: 24h, overlap: 1h}}`, ""},
		"no overlap (N59)":                    {cache, `{forProvider: {memoryMegabytes: 8}, credentials: {rotateEvery: 24h, overlap: 0s}}`, ""},
		"overlap of any kind (N59)":           {database, `{forProvider: {fancinessLevel: 10}, credentials: {rotateEvery: 24h, overlap: 1h}}`, ""},
		"overlap as long as the age (N59)":    {cache, `{forProvider: {memoryMegabytes: 8}, credentials: {rotateEvery: 24h, overlap: 24h}}`, "overlap needs rotateEvery and must be less"},
		"overlap without an age (N59)":        {cache, `{forProvider: {memoryMegabytes: 8}, credentials: {overlap: 1h}}`, "overlap needs rotateEvery and must be less"},
		"overlap before now (N59)":            {cache, `{forProvider: {memoryMegabytes: 8}, credentials: {rotateEvery: 24h, overlap: -1h}}`, "overlap must not be negative"},
		"overlap that is no duration (N59)":   {cache, `{forProvider: {memoryMegabytes: 8}, credentials: {rotateEvery: 24h, overlap: long}}`, "overlap"},
		"no plain password (P60)":             {database, `{forProvider: {fancinessLevel: 10, password: secret}}`, `unknown field "spec.forProvider.password"`},
		"cluster-scoped with a kind (N2)":     {clusterNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, providerConfigRef: {kind: ClusterProviderConfig, name: a}}`, "a cluster-scoped object uses a cluster-scoped ProviderConfig"},
		"config of the own namespace (N2)":    {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, providerConfigRef: {kind: ProviderConfig, name: a}}`, ""},
		"config of another kind (N2)":         {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, providerConfigRef: {kind: Secret, name: a}}`, `Unsupported value: "Secret"`},
		"secret of another namespace (N2)":    {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, writeConnectionSecretToRef: {name: a, namespace: kube-system}}`, "leave namespace out"},
		"secret of the own namespace (N2)":    {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, writeConnectionSecretToRef: {name: a}}`, ""},
		"smallest fanciness (K15)":            {database, `{forProvider: {fancinessLevel: 10}}`, ""},
		"too little fanciness (K15)":          {database, `{forProvider: {fancinessLevel: 9}}`, "fancinessLevel in body should be greater than or equal to 10"},
		"largest fanciness (K15)":             {database, `{forProvider: {fancinessLevel: 1000}}`, ""},
		"too much fanciness (K15)":            {database, `{forProvider: {fancinessLevel: 1001}}`, "fancinessLevel in body should be less than or equal to 1000"},
		"a name that no instance has (K15)":   {database, `{forProvider: {fancinessLevel: 10, name: Orders}}`, "name in body should match"},
		"another type (K15)":                  {database, `{forProvider: {fancinessLevel: many}}`, "must be of type integer"},
		"no such setting (K15)":               {database, `{forProvider: {fancinessLevel: 10, mtu: 1500}}`, `unknown field "spec.forProvider.mtu"`},
		"smallest MTU (K15)":                  {clusterNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16, mtu: 576}}`, ""},
		"too small an MTU (K15)":              {clusterNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16, mtu: 575}}`, "mtu in body should be greater than or equal to 576"},
		"nine name servers (K15)":             {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16, dnsServers: [a, b, c, d, e, f, g, h, i]}}`, "dnsServers: Too many: 9"},
		"an empty zone (K15)":                 {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkId: a, zone: ""}}`, "zone in body should be at least 1 chars long"},
		"group of no machines (K15)":          {nodeGroup, `{forProvider: {subnetIds: [a], scalingConfig: [{minSize: 0, maxSize: 0}]}}`, "maxSize in body should be greater than or equal to 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUnstructured(t, env, managedKinds()[tc.kind], tc.spec)
			err := env.Client.Create(t.Context(), u, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			checkRefusal(t, err, tc.refused)
		})
	}
}

// refusedEndpoint is the error of a rule of the spec, since the error of a rule of the field would repeat the value.
const refusedEndpoint = "endpoint must be http:// or https:// with a host"

func TestCreateConfig(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for name, tc := range map[string]struct{ spec, refused string }{
		"a key of a Secret (K55, D9)":        {`{projectID: a, credentials: {source: Secret, secretRef: {namespace: a, name: b, key: c}}}`, ""},
		"a place and limits (K55)":           {`{projectID: a, endpoint: "https://cloud.example.org", limits: {inFlight: 2}, credentials: {source: None}}`, ""},
		"no Secret (K55)":                    {`{projectID: a, credentials: {source: Secret}}`, "source Secret needs secretRef with namespace, name and key"},
		"no credentials (K55)":               {`{projectID: a}`, "spec.credentials: Required value"},
		"no project (K55)":                   {`{credentials: {source: None}}`, "spec.projectID: Required value"},
		"an endpoint that is no URL (K55)":   {`{projectID: a, endpoint: here, credentials: {source: None}}`, refusedEndpoint},
		"an endpoint with a user (K55)":      {`{projectID: a, endpoint: "https://u:secret@cloud", credentials: {source: None}}`, refusedEndpoint},
		"an endpoint with a path (K55)":      {`{projectID: a, endpoint: "https://cloud/secret", credentials: {source: None}}`, refusedEndpoint},
		"an endpoint with a query (K55)":     {`{projectID: a, endpoint: "https://cloud?key=secret", credentials: {source: None}}`, refusedEndpoint},
		"another scheme with a user (K55)":   {`{projectID: a, endpoint: "ftp://u:secret@cloud", credentials: {source: None}}`, refusedEndpoint},
		"an endpoint with a port (K55)":      {`{projectID: a, endpoint: "http://[::1]:7070/", credentials: {source: None}}`, ""},
		"no namespace (D9)":                  {`{projectID: a, credentials: {source: Secret, secretRef: {name: b, key: c}}}`, "secretRef.namespace: Required value"},
		"no name (D9)":                       {`{projectID: a, credentials: {source: Secret, secretRef: {namespace: a, key: c}}}`, "secretRef.name: Required value"},
		"no key (D9)":                        {`{projectID: a, credentials: {source: Secret, secretRef: {namespace: a, name: b}}}`, "secretRef.key: Required value"},
		"not the selector of the guide (D9)": {`{projectID: a, secret: {name: b, key: c}, credentials: {source: None}}`, `unknown field "spec.secret"`},
	} {
		for _, k := range rootKinds[resource.ProviderConfig](t) {
			t.Run(name+" "+k.String(), func(t *testing.T) {
				t.Parallel()
				u := newUnstructured(t, env, k.GroupVersionKind, tc.spec)
				err := env.Client.Create(t.Context(), u, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
				checkRefusal(t, err, tc.refused)
				if tc.refused == refusedEndpoint && strings.Contains(fmt.Sprint(err), "secret") {
					t.Errorf("the error repeats the endpoint: %v", err)
				}
			})
		}
	}
}

func TestChange(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for name, tc := range map[string]struct{ kind, have, change, refused string }{
		"name of a database (N7, P70)":               {database, `forProvider: {name: a}`, `{"name":"b"}`, "name is immutable"},
		"removed name (N7)":                          {database, `forProvider: {name: a}`, `{"name":null}`, "name is immutable"},
		"name given late (N7)":                       {database, `forProvider: {}`, `{"name":"b"}`, ""},
		"version of a database (N7, P70, P72, R177)": {database, `forProvider: {version: "15"}`, `{"version":"16"}`, "version is immutable"},
		"version given late (N7)":                    {database, `forProvider: {}`, `{"version":"16"}`, ""},
		"name of a cache (N7, P70)":                  {cache, `forProvider: {name: a}`, `{"name":"b"}`, "name is immutable"},
		"version of a cache (N7, P70)":               {cache, `forProvider: {engineVersion: "7.0"}`, `{"engineVersion":"7.2"}`, "engineVersion is immutable"},
		"fanciness of a database":                    {database, `forProvider: {fancinessLevel: 10}`, `{"fancinessLevel":20}`, ""},
		"another password":                           {database, `forProvider: {}`, `{"passwordSecretRef":{"namespace":"a","name":"b","key":"c"}}`, ""},
		"range of cluster network (N7, P70)":         {clusterNetwork, `forProvider: {cidrBlock: 10.0.0.0/16}`, `{"cidrBlock":"10.0.0.0/8"}`, "cidrBlock is immutable"},
		"range of a network (N7, P70)":               {namespacedNetwork, `forProvider: {cidrBlock: 10.0.0.0/16}`, `{"cidrBlock":"10.0.0.0/8"}`, "cidrBlock is immutable"},
		"MTU of a network":                           {namespacedNetwork, `forProvider: {mtu: 1500}`, `{"mtu":9000}`, ""},
		"removed MTU of a network":                   {namespacedNetwork, `forProvider: {mtu: 1500}`, `{"mtu":null}`, ""},
		"network of a subnet (N7, R174, P71)":        {subnet, `forProvider: {networkId: a}`, `{"networkId":"b"}`, "networkId is immutable"},
		"resolved network (N7, R165)":                {subnet, `forProvider: {networkIdSelector: {}}`, `{"networkId":"a","networkIdRef":{"name":"b"}}`, ""},
		"network's ref (N7, R174, P71)":              {subnet, `forProvider: {networkIdRef: {name: a}}`, `{"networkIdRef":{"name":"b"}}`, "networkIdRef is immutable"},
		"mutable selector (N7, R174, P71)":           {subnet, `forProvider: {networkIdSelector: {matchLabels: {a: b}}}`, `{"networkIdSelector":{"matchLabels":{"a":"c"}}}`, ""},
		"zone of a subnet (N7, P70)":                 {subnet, `forProvider: {zone: zone-a}`, `{"zone":"zone-b"}`, "zone is immutable"},
		"late-initialized zone (N7)":                 {subnet, `forProvider: {}`, `{"zone":"zone-b"}`, ""},
		"subnets (N7, R174, P71)":                    {nodeGroup, `forProvider: {subnetIds: [a]}`, `{"subnetIds":["a","b"]}`, "subnetIds is immutable"},
		"refs of subnets (N7, R174, P71)":            {nodeGroup, `forProvider: {subnetIdRefs: [{name: a}]}`, `{"subnetIdRefs":[{"name":"b"}]}`, "subnetIdRefs is immutable"},
		"resolved subnets (N7, R165)":                {nodeGroup, `forProvider: {subnetIdSelector: {}}`, `{"subnetIds":["a"],"subnetIdRefs":[{"name":"b"}]}`, ""},
		"selector of subnets (N7, R174, P71)":        {nodeGroup, `forProvider: {subnetIdSelector: {}}`, `{"subnetIdSelector":{"matchControllerRef":true}}`, ""},
		"size and type of a node group":              {nodeGroup, `forProvider: {scalingConfig: [{minSize: 1}]}`, `{"scalingConfig":[{"minSize":2}],"instanceType":"big"}`, ""},
		"labels of others change any time":           {nodeGroup, `forProvider: {labels: {a: b}}`, `{"labels":{"a":null,"c":"d"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUnstructured(t, env, managedKinds()[tc.kind], "{managementPolicies: [Observe], "+tc.have+"}")
			if err := env.Client.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = env.Client.Delete(context.Background(), u) })
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"forProvider":`+tc.change+`}}`))
			checkRefusal(t, env.Client.Patch(t.Context(), u, patch, client.DryRunAll), tc.refused)
		})
	}
}

// The server accepts every example, every managed kind has one, and the other settings have their defaults.
func TestExamples(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	files, err := filepath.Glob("../../../examples/fcp/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	examples := map[schema.GroupVersionKind]*unstructured.Unstructured{}
	for _, file := range files {
		for _, u := range documents(t, file) {
			if examples[u.GroupVersionKind()] = u; u.GetNamespace() != "" {
				u.SetNamespace(env.Namespace)
			}
			err := env.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(u), client.DryRunAll, client.FieldOwner("examples"))
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	for name, gvk := range managedKinds() {
		t.Run("defaults of a "+name+" (K12 N2 R109 T24)", func(t *testing.T) {
			u := examples[gvk]
			if u == nil {
				t.Fatal("it has no example")
			}
			forProvider, _, _ := unstructured.NestedMap(u.Object, "spec", "forProvider")
			u.Object["spec"] = map[string]any{"forProvider": forProvider}
			u.SetName(env.Prefix + "defaults")
			if err := env.Client.Create(t.Context(), u, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			config := "map[name:default]"
			if u.GetNamespace() != "" {
				config = "map[kind:ClusterProviderConfig name:default]"
			}
			want := fmt.Sprintf("map[deletionPolicy:Delete managementPolicies:[*] providerConfigRef:%s]", config)
			unstructured.RemoveNestedField(u.Object, "spec", "forProvider")
			if got := fmt.Sprint(u.Object["spec"]); got != want {
				t.Errorf("defaults %s, want %s", got, want)
			}
		})
	}
}

func documents(t *testing.T, file string) (all []*unstructured.Unstructured) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for decoder := utilyaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		u := &unstructured.Unstructured{}
		err := decoder.Decode(u)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, u)
	}
}
