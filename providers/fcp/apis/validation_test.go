// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/resource"
)

type creation struct{ kind, spec, refused string }

// checkCreations creates objects, and expects a refusal where a part of its message is given.
func checkCreations(t *testing.T, cases map[string]creation) {
	t.Parallel()
	env := controlplanetest.New(t)
	kinds := managedKinds()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := kinds[tc.kind].object(t, env, tc.spec)
			err := env.Client.Create(t.Context(), u, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
			checkRefusal(t, err, tc.refused)
		})
	}
}

func TestCreate(t *testing.T) {
	checkCreations(t, map[string]creation{
		"database without fanciness (R147)":   {database, `{forProvider: {name: a}}`, "spec.forProvider.fancinessLevel is required, there or in spec.initProvider, unless managementPolicies exclude Create and Update"},
		"network without range (R147)":        {namespacedNetwork, `{forProvider: {}}`, "spec.forProvider.cidrBlock is required"},
		"cluster network with none (R147)":    {clusterNetwork, `{forProvider: {}}`, "spec.forProvider.cidrBlock is required"},
		"subnet without range (R147)":         {subnet, `{forProvider: {networkId: net-1}}`, "spec.forProvider.cidrBlock is required"},
		"needed for Create (R147)":            {namespacedNetwork, `{forProvider: {}, managementPolicies: [Observe, Create]}`, "spec.forProvider.cidrBlock is required"},
		"needed for Update (R147)":            {namespacedNetwork, `{forProvider: {}, managementPolicies: [Observe, Update]}`, "spec.forProvider.cidrBlock is required"},
		"database observed (O32)":             {database, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"cluster network observed (O32)":      {clusterNetwork, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"network observed (O32)":              {namespacedNetwork, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"subnet observed (O32)":               {subnet, `{forProvider: {}, managementPolicies: [Observe, Delete]}`, ""},
		"node group observed (O32)":           {nodeGroup, `{forProvider: {}, managementPolicies: [Observe, LateInitialize]}`, ""},
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
		"smallest size in neither (R147)":     {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{maxSize: 1}]}}`, "spec.forProvider.scalingConfig[0].minSize is required"},
		"empty entry (P34, P35)":              {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}], repair: {}}}`, "spec.forProvider.repair.enabled: Required value"},
		"empty entry at creation (P34, P35)":  {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}]}, initProvider: {repair: {}}}`, "spec.initProvider.repair.enabled: Required value"},
		"entry that says no (P34)":            {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}], repair: {enabled: false}}}`, ""},
		"settings may be left out (P33)":      {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}], upgrade: {}}}`, ""},
		"no reports among settings (P32)":     {nodeGroup, `{forProvider: {upgrade: {version: a}}, managementPolicies: [Observe]}`, `unknown field "spec.forProvider.upgrade.version"`},
		"unknown strategy of an upgrade":      {nodeGroup, `{forProvider: {upgrade: {strategy: NEVER}}, managementPolicies: [Observe]}`, `Unsupported value: "NEVER"`},
		"two scaling configs (N33)":           {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}, {}]}}`, "spec.forProvider.scalingConfig: Too many: 2"},
		"ref that follows its target (N33)":   {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkIdRef: {name: a, policy: {resolve: Always}}}}`, "policy.resolve must not be Always"},
		"selector that follows (N33)":         {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkIdSelector: {policy: {resolve: Always}}}}`, "policy.resolve must not be Always"},
		"refs that follow (N33)":              {nodeGroup, `{forProvider: {subnetIdRefs: [{name: a, policy: {resolve: Always}}], scalingConfig: [{minSize: 1, maxSize: 2}]}}`, "policy.resolve must not be Always"},
		"list selector that follows (N33)":    {nodeGroup, `{forProvider: {subnetIdSelector: {policy: {resolve: Always}}, scalingConfig: [{minSize: 1, maxSize: 2}]}}`, "policy.resolve must not be Always"},
		"unknown action (R116)":               {subnet, `{forProvider: {}, managementPolicies: [Observe, Destroy]}`, `Unsupported value: "Destroy"`},
		"database without a name (D19)":       {database, `{forProvider: {fancinessLevel: 10}}`, ""},
		"cache without memory (R147)":         {cache, `{forProvider: {}}`, "spec.forProvider.memoryMegabytes is required"},
		"cache observed (O32)":                {cache, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"cache with all":                      {cache, `{forProvider: {name: a, memoryMegabytes: 16384, evictionPolicy: allkeys-lru, engineVersion: "7.0", labels: {a: b}}}`, ""},
		"too little memory":                   {cache, `{forProvider: {memoryMegabytes: 7}}`, "memoryMegabytes in body should be greater than or equal to 8"},
		"no such policy":                      {cache, `{forProvider: {memoryMegabytes: 8, evictionPolicy: lru}}`, `Unsupported value: "lru"`},
		"password of a cache (P60)":           {cache, `{forProvider: {memoryMegabytes: 8, passwordSecretRef: {namespace: a, name: b, key: c}}}`, ""},
		"password of a database (P60)":        {database, `{forProvider: {fancinessLevel: 10, passwordSecretRef: {namespace: a, name: b, key: c}}}`, ""},
		"password without a key (P60)":        {database, `{forProvider: {fancinessLevel: 10, passwordSecretRef: {namespace: a, name: b}}}`, "spec.forProvider.passwordSecretRef.key: Required value"},
		"no plain password (P60)":             {database, `{forProvider: {fancinessLevel: 10, password: secret}}`, `unknown field "spec.forProvider.password"`},
		"cluster-scoped with a kind (N2)":     {clusterNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, providerConfigRef: {kind: ClusterProviderConfig, name: a}}`, "a cluster-scoped object uses a cluster-scoped ProviderConfig"},
		"config of the own namespace (N2)":    {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, providerConfigRef: {kind: ProviderConfig, name: a}}`, ""},
		"config of another kind (N2)":         {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, providerConfigRef: {kind: Secret, name: a}}`, `Unsupported value: "Secret"`},
		"secret of another namespace (N2)":    {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, writeConnectionSecretToRef: {name: a, namespace: kube-system}}`, "leave namespace out"},
		"secret of the own namespace (N2)":    {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, writeConnectionSecretToRef: {name: a}}`, ""},
		"unknown field":                       {subnet, `{forProvider: {cidr: 10.0.0.0/24}, managementPolicies: [Observe]}`, `unknown field "spec.forProvider.cidr"`},
		"unknown field of a scaling config":   {nodeGroup, `{forProvider: {}, initProvider: {scalingConfig: [{size: 1}]}, managementPolicies: [Observe]}`, `unknown field "spec.initProvider.scalingConfig[0].size"`},
	})
}

// Settings exist, are required and are valid as the definitions declare.
func TestSchema(t *testing.T) {
	checkCreations(t, map[string]creation{
		"smallest fanciness (K15)":    {database, `{forProvider: {fancinessLevel: 10}}`, ""},
		"too little fanciness (K15)":  {database, `{forProvider: {fancinessLevel: 9}}`, "fancinessLevel in body should be greater than or equal to 10"},
		"largest fanciness (K15)":     {database, `{forProvider: {fancinessLevel: 1000}}`, ""},
		"too much fanciness (K15)":    {database, `{forProvider: {fancinessLevel: 1001}}`, "fancinessLevel in body should be less than or equal to 1000"},
		"a name that no has (K15)":    {database, `{forProvider: {fancinessLevel: 10, name: Orders}}`, "name in body should match"},
		"another type (K15)":          {database, `{forProvider: {fancinessLevel: many}}`, "must be of type integer"},
		"a required setting (K15)":    {database, `{forProvider: {version: "15"}}`, "spec.forProvider.fancinessLevel is required"},
		"an optional setting (K15)":   {database, `{forProvider: {fancinessLevel: 10, version: "15"}}`, ""},
		"no such setting (K15)":       {database, `{forProvider: {fancinessLevel: 10, mtu: 1500}}`, `unknown field "spec.forProvider.mtu"`},
		"smallest MTU (K15)":          {clusterNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16, mtu: 576}}`, ""},
		"too small an MTU (K15)":      {clusterNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16, mtu: 575}}`, "mtu in body should be greater than or equal to 576"},
		"nine name servers (K15)":     {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16, dnsServers: [a, b, c, d, e, f, g, h, i]}}`, "dnsServers: Too many: 9"},
		"an empty zone (K15)":         {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkId: a, zone: ""}}`, "zone in body should be at least 1 chars long"},
		"group of no machines (K15)":  {nodeGroup, `{forProvider: {subnetIds: [a], scalingConfig: [{minSize: 0, maxSize: 0}]}}`, "maxSize in body should be greater than or equal to 1"},
		"group of few machines (K15)": {nodeGroup, `{forProvider: {subnetIds: [a], scalingConfig: [{minSize: 0, maxSize: 1}]}}`, ""},
	})
}

func TestCreateConfig(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for name, tc := range map[string]struct{ spec, refused string }{
		"a key of a Secret (K55, D9)":        {`{projectID: a, credentials: {source: Secret, secretRef: {namespace: a, name: b, key: c}}}`, ""},
		"a place and limits (K55)":           {`{projectID: a, endpoint: "https://cloud.example.org", limits: {inFlight: 2}, credentials: {source: None}}`, ""},
		"no Secret (K55)":                    {`{projectID: a, credentials: {source: Secret}}`, "source Secret needs secretRef with namespace, name and key"},
		"no credentials (K55)":               {`{projectID: a}`, "spec.credentials: Required value"},
		"no project (K55)":                   {`{credentials: {source: None}}`, "spec.projectID: Required value"},
		"an endpoint that is no URL (K55)":   {`{projectID: a, endpoint: here, credentials: {source: None}}`, "spec.endpoint"},
		"no namespace (D9)":                  {`{projectID: a, credentials: {source: Secret, secretRef: {name: b, key: c}}}`, "secretRef.namespace: Required value"},
		"no name (D9)":                       {`{projectID: a, credentials: {source: Secret, secretRef: {namespace: a, key: c}}}`, "secretRef.name: Required value"},
		"no key (D9)":                        {`{projectID: a, credentials: {source: Secret, secretRef: {namespace: a, name: b}}}`, "secretRef.key: Required value"},
		"not the selector of the guide (D9)": {`{projectID: a, secret: {name: b, key: c}, credentials: {source: None}}`, `unknown field "spec.secret"`},
	} {
		for _, k := range rootKinds[resource.ProviderConfig](t) {
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

func TestChange(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	kinds := managedKinds()
	for name, tc := range map[string]struct{ kind, have, change, refused string }{
		"name of a database (N7, P70)":        {database, `forProvider: {name: a}`, `{"name":"b"}`, "name is immutable"},
		"removed name (N7)":                   {database, `forProvider: {name: a}`, `{"name":null}`, "name is immutable"},
		"name given late (N7)":                {database, `forProvider: {}`, `{"name":"b"}`, ""},
		"version of a database (N7, P70)":     {database, `forProvider: {version: "15"}`, `{"version":"16"}`, "version is immutable"},
		"removed version (N7)":                {database, `forProvider: {version: "15"}`, `{"version":null}`, "version is immutable"},
		"version given late (N7)":             {database, `forProvider: {}`, `{"version":"16"}`, ""},
		"name of a cache (N7, P70)":           {cache, `forProvider: {name: a}`, `{"name":"b"}`, "name is immutable"},
		"version of a cache (N7, P70)":        {cache, `forProvider: {engineVersion: "7.0"}`, `{"engineVersion":"7.2"}`, "engineVersion is immutable"},
		"version of a cache given late (N7)":  {cache, `forProvider: {}`, `{"engineVersion":"7.0"}`, ""},
		"memory of a cache":                   {cache, `forProvider: {memoryMegabytes: 8}`, `{"memoryMegabytes":16}`, ""},
		"fanciness of a database":             {database, `forProvider: {fancinessLevel: 10}`, `{"fancinessLevel":20}`, ""},
		"another password":                    {database, `forProvider: {}`, `{"passwordSecretRef":{"namespace":"a","name":"b","key":"c"}}`, ""},
		"range of cluster network (N7, P70)":  {clusterNetwork, `forProvider: {cidrBlock: 10.0.0.0/16}`, `{"cidrBlock":"10.0.0.0/8"}`, "cidrBlock is immutable"},
		"range of a network (N7, P70)":        {namespacedNetwork, `forProvider: {cidrBlock: 10.0.0.0/16}`, `{"cidrBlock":"10.0.0.0/8"}`, "cidrBlock is immutable"},
		"removed range of a network (N7)":     {namespacedNetwork, `forProvider: {cidrBlock: 10.0.0.0/16}`, `{"cidrBlock":null}`, "cidrBlock is immutable"},
		"MTU of a network":                    {namespacedNetwork, `forProvider: {mtu: 1500}`, `{"mtu":9000}`, ""},
		"removed MTU of a network":            {namespacedNetwork, `forProvider: {mtu: 1500}`, `{"mtu":null}`, ""},
		"network of a subnet (N7, R174, P71)": {subnet, `forProvider: {networkId: a}`, `{"networkId":"b"}`, "networkId is immutable"},
		"removed network of a subnet (N7)":    {subnet, `forProvider: {networkId: a}`, `{"networkId":null}`, "networkId is immutable"},
		"resolved network (N7, R165)":         {subnet, `forProvider: {networkIdSelector: {}}`, `{"networkId":"a","networkIdRef":{"name":"b"}}`, ""},
		"network's ref (N7, R174, P71)":       {subnet, `forProvider: {networkIdRef: {name: a}}`, `{"networkIdRef":{"name":"b"}}`, "networkIdRef is immutable"},
		"removed ref (N7)":                    {subnet, `forProvider: {networkIdRef: {name: a}}`, `{"networkIdRef":null}`, "networkIdRef is immutable"},
		"mutable selector (N7, R174, P71)":    {subnet, `forProvider: {networkIdSelector: {matchLabels: {a: b}}}`, `{"networkIdSelector":{"matchLabels":{"a":"c"}}}`, ""},
		"removed selector (N7)":               {subnet, `forProvider: {networkIdSelector: {matchLabels: {a: b}}}`, `{"networkIdSelector":null}`, ""},
		"zone of a subnet (N7, P70)":          {subnet, `forProvider: {zone: zone-a}`, `{"zone":"zone-b"}`, "zone is immutable"},
		"late-initialized zone (N7)":          {subnet, `forProvider: {}`, `{"zone":"zone-b"}`, ""},
		"subnets (N7, R174, P71)":             {nodeGroup, `forProvider: {subnetIds: [a]}`, `{"subnetIds":["a","b"]}`, "subnetIds is immutable"},
		"removed subnets (N7)":                {nodeGroup, `forProvider: {subnetIds: [a]}`, `{"subnetIds":null}`, "subnetIds is immutable"},
		"refs of subnets (N7, R174, P71)":     {nodeGroup, `forProvider: {subnetIdRefs: [{name: a}]}`, `{"subnetIdRefs":[{"name":"b"}]}`, "subnetIdRefs is immutable"},
		"resolved subnets (N7, R165)":         {nodeGroup, `forProvider: {subnetIdSelector: {}}`, `{"subnetIds":["a"],"subnetIdRefs":[{"name":"b"}]}`, ""},
		"selector of subnets (N7, R174, P71)": {nodeGroup, `forProvider: {subnetIdSelector: {}}`, `{"subnetIdSelector":{"matchControllerRef":true}}`, ""},
		"size and type of a node group":       {nodeGroup, `forProvider: {scalingConfig: [{minSize: 1}]}`, `{"scalingConfig":[{"minSize":2}],"instanceType":"big"}`, ""},
		"labels of others change any time":    {nodeGroup, `forProvider: {labels: {a: b}}`, `{"labels":{"a":null,"c":"d"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := kinds[tc.kind].object(t, env, "{managementPolicies: [Observe], "+tc.have+"}")
			if err := env.Client.Create(t.Context(), u); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { remove(t, env, u) })
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"forProvider":`+tc.change+`}}`))
			checkRefusal(t, env.Client.Patch(t.Context(), u, patch, client.DryRunAll), tc.refused)
		})
	}
}

// What a node group was created with may change and is ignored, but for what may say where or what it is.
func TestChangeOfInitProvider(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	u := managedKinds()[nodeGroup].object(t, env,
		`{forProvider: {}, initProvider: {subnetIds: [a], subnetIdRefs: [{name: a}], scalingConfig: [{minSize: 1, maxSize: 2}]}}`)
	if err := env.Client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, env, u) })
	for name, tc := range map[string]struct{ change, refused string }{
		"size (R140)":                      {`{"initProvider":{"scalingConfig":[{"minSize":2,"maxSize":3}]}}`, ""},
		"what subnets came from (R140)":    {`{"initProvider":{"subnetIdRefs":null}}`, ""},
		"subnets (N7)":                     {`{"initProvider":{"subnetIds":["b"]}}`, "subnetIds was set in spec.initProvider and is immutable"},
		"removed subnets (N7)":             {`{"initProvider":null,"forProvider":{"scalingConfig":[{"minSize":1,"maxSize":2}],"subnetIdSelector":{}}}`, "subnetIds was set"},
		"subnets become others (N7, R142)": {`{"forProvider":{"subnetIds":["b"]}}`, "subnetIds was set"},
		"subnets are enforced (N7, R142)":  {`{"forProvider":{"subnetIds":["a"]}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":`+tc.change+`}`))
			checkRefusal(t, env.Client.Patch(t.Context(), u.DeepCopy(), patch, client.DryRunAll), tc.refused)
		})
	}
}

func remove(t *testing.T, env *controlplanetest.Env, u *unstructured.Unstructured) {
	t.Helper()
	if err := env.Client.Delete(context.Background(), u); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}
