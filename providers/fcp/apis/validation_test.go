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
		"R147 database without fanciness":   {database, `{forProvider: {name: a}}`, "spec.forProvider.fancinessLevel is required, there or in spec.initProvider, unless managementPolicies exclude Create and Update"},
		"R147 network without range":        {namespacedNetwork, `{forProvider: {}}`, "spec.forProvider.cidrBlock is required"},
		"R147 cluster network with none":    {clusterNetwork, `{forProvider: {}}`, "spec.forProvider.cidrBlock is required"},
		"R147 subnet without range":         {subnet, `{forProvider: {networkId: net-1}}`, "spec.forProvider.cidrBlock is required"},
		"R147 needed for Create":            {namespacedNetwork, `{forProvider: {}, managementPolicies: [Observe, Create]}`, "spec.forProvider.cidrBlock is required"},
		"R147 needed for Update":            {namespacedNetwork, `{forProvider: {}, managementPolicies: [Observe, Update]}`, "spec.forProvider.cidrBlock is required"},
		"O32 database observed":             {database, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"O32 cluster network observed":      {clusterNetwork, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"O32 network observed":              {namespacedNetwork, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"O32 subnet observed":               {subnet, `{forProvider: {}, managementPolicies: [Observe, Delete]}`, ""},
		"O32 node group observed":           {nodeGroup, `{forProvider: {}, managementPolicies: [Observe, LateInitialize]}`, ""},
		"O32 R118 paused by an empty list":  {nodeGroup, `{forProvider: {}, managementPolicies: []}`, ""},
		"R171 subnet without network":       {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24}}`, "one of spec.forProvider.networkId, networkIdRef or networkIdSelector is required"},
		"R158 R160 subnet by value":         {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkId: net-1}}`, ""},
		"R158 R171 subnet by ref":           {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkIdRef: {name: a}}}`, ""},
		"R158 R171 subnet by selector":      {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkIdSelector: {matchLabels: {a: b}, matchControllerRef: true}}}`, ""},
		"R171 node group without subnets":   {nodeGroup, `{forProvider: {scalingConfig: [{minSize: 1, maxSize: 2}]}}`, "one of spec.forProvider.subnetIds, subnetIdRefs or subnetIdSelector is required"},
		"R170 R171 node group by refs":      {nodeGroup, `{forProvider: {subnetIdRefs: [{name: a}, {name: b}], scalingConfig: [{minSize: 1, maxSize: 2}]}}`, ""},
		"R170 R171 node group by selector":  {nodeGroup, `{forProvider: {subnetIdSelector: {}, scalingConfig: [{minSize: 1, maxSize: 2}]}}`, ""},
		"R147 all in initProvider":          {nodeGroup, `{forProvider: {}, initProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}]}}`, ""},
		"R147 R141 split over both":         {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1}]}, initProvider: {scalingConfig: [{maxSize: 2}]}}`, ""},
		"R147 largest size in neither":      {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1}]}, initProvider: {scalingConfig: [{desiredSize: 2}]}}`, "spec.forProvider.scalingConfig[0].maxSize is required, there or in spec.initProvider"},
		"R147 smallest size in neither":     {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{maxSize: 1}]}}`, "spec.forProvider.scalingConfig[0].minSize is required"},
		"P34 P35 empty entry":               {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}], repair: {}}}`, "spec.forProvider.repair.enabled: Required value"},
		"P34 P35 empty entry at creation":   {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}]}, initProvider: {repair: {}}}`, "spec.initProvider.repair.enabled: Required value"},
		"P34 entry that says no":            {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}], repair: {enabled: false}}}`, ""},
		"P33 settings may be left out":      {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}], upgrade: {}}}`, ""},
		"P32 no reports among settings":     {nodeGroup, `{forProvider: {upgrade: {version: a}}, managementPolicies: [Observe]}`, `unknown field "spec.forProvider.upgrade.version"`},
		"unknown strategy of an upgrade":    {nodeGroup, `{forProvider: {upgrade: {strategy: NEVER}}, managementPolicies: [Observe]}`, `Unsupported value: "NEVER"`},
		"N33 two scaling configs":           {nodeGroup, `{forProvider: {subnetIds: [sub-1], scalingConfig: [{minSize: 1, maxSize: 2}, {}]}}`, "spec.forProvider.scalingConfig: Too many: 2"},
		"N33 ref that follows its target":   {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkIdRef: {name: a, policy: {resolve: Always}}}}`, "policy.resolve must not be Always"},
		"N33 selector that follows":         {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkIdSelector: {policy: {resolve: Always}}}}`, "policy.resolve must not be Always"},
		"N33 refs that follow":              {nodeGroup, `{forProvider: {subnetIdRefs: [{name: a, policy: {resolve: Always}}], scalingConfig: [{minSize: 1, maxSize: 2}]}}`, "policy.resolve must not be Always"},
		"N33 list selector that follows":    {nodeGroup, `{forProvider: {subnetIdSelector: {policy: {resolve: Always}}, scalingConfig: [{minSize: 1, maxSize: 2}]}}`, "policy.resolve must not be Always"},
		"R116 unknown action":               {subnet, `{forProvider: {}, managementPolicies: [Observe, Destroy]}`, `Unsupported value: "Destroy"`},
		"D19 database without a name":       {database, `{forProvider: {fancinessLevel: 10}}`, ""},
		"R147 cache without memory":         {cache, `{forProvider: {}}`, "spec.forProvider.memoryMegabytes is required"},
		"O32 cache observed":                {cache, `{forProvider: {}, managementPolicies: [Observe]}`, ""},
		"cache with all":                    {cache, `{forProvider: {name: a, memoryMegabytes: 16384, evictionPolicy: allkeys-lru, engineVersion: "7.0", labels: {a: b}}}`, ""},
		"too little memory":                 {cache, `{forProvider: {memoryMegabytes: 7}}`, "memoryMegabytes in body should be greater than or equal to 8"},
		"no such policy":                    {cache, `{forProvider: {memoryMegabytes: 8, evictionPolicy: lru}}`, `Unsupported value: "lru"`},
		"P60 password of a cache":           {cache, `{forProvider: {memoryMegabytes: 8, passwordSecretRef: {namespace: a, name: b, key: c}}}`, ""},
		"P60 password of a database":        {database, `{forProvider: {fancinessLevel: 10, passwordSecretRef: {namespace: a, name: b, key: c}}}`, ""},
		"P60 password without a key":        {database, `{forProvider: {fancinessLevel: 10, passwordSecretRef: {namespace: a, name: b}}}`, "spec.forProvider.passwordSecretRef.key: Required value"},
		"P60 no plain password":             {database, `{forProvider: {fancinessLevel: 10, password: secret}}`, `unknown field "spec.forProvider.password"`},
		"N2 cluster-scoped with a kind":     {clusterNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, providerConfigRef: {kind: ClusterProviderConfig, name: a}}`, "a cluster-scoped object uses a cluster-scoped ProviderConfig"},
		"N2 config of the own namespace":    {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, providerConfigRef: {kind: ProviderConfig, name: a}}`, ""},
		"N2 config of another kind":         {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, providerConfigRef: {kind: Secret, name: a}}`, `Unsupported value: "Secret"`},
		"N2 secret of another namespace":    {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, writeConnectionSecretToRef: {name: a, namespace: kube-system}}`, "leave namespace out"},
		"N2 secret of the own namespace":    {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16}, writeConnectionSecretToRef: {name: a}}`, ""},
		"unknown field":                     {subnet, `{forProvider: {cidr: 10.0.0.0/24}, managementPolicies: [Observe]}`, `unknown field "spec.forProvider.cidr"`},
		"unknown field of a scaling config": {nodeGroup, `{forProvider: {}, initProvider: {scalingConfig: [{size: 1}]}, managementPolicies: [Observe]}`, `unknown field "spec.initProvider.scalingConfig[0].size"`},
	})
}

// Settings exist, are required and are valid as the definitions declare.
func TestSchema(t *testing.T) {
	checkCreations(t, map[string]creation{
		"K15 smallest fanciness":    {database, `{forProvider: {fancinessLevel: 10}}`, ""},
		"K15 too little fanciness":  {database, `{forProvider: {fancinessLevel: 9}}`, "fancinessLevel in body should be greater than or equal to 10"},
		"K15 largest fanciness":     {database, `{forProvider: {fancinessLevel: 1000}}`, ""},
		"K15 too much fanciness":    {database, `{forProvider: {fancinessLevel: 1001}}`, "fancinessLevel in body should be less than or equal to 1000"},
		"K15 a name that no has":    {database, `{forProvider: {fancinessLevel: 10, name: Orders}}`, "name in body should match"},
		"K15 another type":          {database, `{forProvider: {fancinessLevel: many}}`, "must be of type integer"},
		"K15 a required setting":    {database, `{forProvider: {version: "15"}}`, "spec.forProvider.fancinessLevel is required"},
		"K15 an optional setting":   {database, `{forProvider: {fancinessLevel: 10, version: "15"}}`, ""},
		"K15 no such setting":       {database, `{forProvider: {fancinessLevel: 10, mtu: 1500}}`, `unknown field "spec.forProvider.mtu"`},
		"K15 smallest MTU":          {clusterNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16, mtu: 576}}`, ""},
		"K15 too small an MTU":      {clusterNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16, mtu: 575}}`, "mtu in body should be greater than or equal to 576"},
		"K15 nine name servers":     {namespacedNetwork, `{forProvider: {cidrBlock: 10.0.0.0/16, dnsServers: [a, b, c, d, e, f, g, h, i]}}`, "dnsServers: Too many: 9"},
		"K15 an empty zone":         {subnet, `{forProvider: {cidrBlock: 10.0.0.0/24, networkId: a, zone: ""}}`, "zone in body should be at least 1 chars long"},
		"K15 group of no machines":  {nodeGroup, `{forProvider: {subnetIds: [a], scalingConfig: [{minSize: 0, maxSize: 0}]}}`, "maxSize in body should be greater than or equal to 1"},
		"K15 group of few machines": {nodeGroup, `{forProvider: {subnetIds: [a], scalingConfig: [{minSize: 0, maxSize: 1}]}}`, ""},
	})
}

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
		"N7 P70 name of a database":        {database, `forProvider: {name: a}`, `{"name":"b"}`, "name is immutable"},
		"N7 removed name":                  {database, `forProvider: {name: a}`, `{"name":null}`, "name is immutable"},
		"N7 name given late":               {database, `forProvider: {}`, `{"name":"b"}`, ""},
		"N7 P70 version of a database":     {database, `forProvider: {version: "15"}`, `{"version":"16"}`, "version is immutable"},
		"N7 removed version":               {database, `forProvider: {version: "15"}`, `{"version":null}`, "version is immutable"},
		"N7 version given late":            {database, `forProvider: {}`, `{"version":"16"}`, ""},
		"N7 P70 name of a cache":           {cache, `forProvider: {name: a}`, `{"name":"b"}`, "name is immutable"},
		"N7 P70 version of a cache":        {cache, `forProvider: {engineVersion: "7.0"}`, `{"engineVersion":"7.2"}`, "engineVersion is immutable"},
		"N7 version of a cache given late": {cache, `forProvider: {}`, `{"engineVersion":"7.0"}`, ""},
		"memory of a cache":                {cache, `forProvider: {memoryMegabytes: 8}`, `{"memoryMegabytes":16}`, ""},
		"fanciness of a database":          {database, `forProvider: {fancinessLevel: 10}`, `{"fancinessLevel":20}`, ""},
		"another password":                 {database, `forProvider: {}`, `{"passwordSecretRef":{"namespace":"a","name":"b","key":"c"}}`, ""},
		"N7 P70 range of cluster network":  {clusterNetwork, `forProvider: {cidrBlock: 10.0.0.0/16}`, `{"cidrBlock":"10.0.0.0/8"}`, "cidrBlock is immutable"},
		"N7 P70 range of a network":        {namespacedNetwork, `forProvider: {cidrBlock: 10.0.0.0/16}`, `{"cidrBlock":"10.0.0.0/8"}`, "cidrBlock is immutable"},
		"N7 removed range of a network":    {namespacedNetwork, `forProvider: {cidrBlock: 10.0.0.0/16}`, `{"cidrBlock":null}`, "cidrBlock is immutable"},
		"MTU of a network":                 {namespacedNetwork, `forProvider: {mtu: 1500}`, `{"mtu":9000}`, ""},
		"removed MTU of a network":         {namespacedNetwork, `forProvider: {mtu: 1500}`, `{"mtu":null}`, ""},
		"N7 R174 P71 network of a subnet":  {subnet, `forProvider: {networkId: a}`, `{"networkId":"b"}`, "networkId is immutable"},
		"N7 removed network of a subnet":   {subnet, `forProvider: {networkId: a}`, `{"networkId":null}`, "networkId is immutable"},
		"N7 R165 resolved network":         {subnet, `forProvider: {networkIdSelector: {}}`, `{"networkId":"a","networkIdRef":{"name":"b"}}`, ""},
		"N7 R174 P71 network's ref":        {subnet, `forProvider: {networkIdRef: {name: a}}`, `{"networkIdRef":{"name":"b"}}`, "networkIdRef is immutable"},
		"N7 removed ref":                   {subnet, `forProvider: {networkIdRef: {name: a}}`, `{"networkIdRef":null}`, "networkIdRef is immutable"},
		"N7 R174 P71 mutable selector":     {subnet, `forProvider: {networkIdSelector: {matchLabels: {a: b}}}`, `{"networkIdSelector":{"matchLabels":{"a":"c"}}}`, ""},
		"N7 removed selector":              {subnet, `forProvider: {networkIdSelector: {matchLabels: {a: b}}}`, `{"networkIdSelector":null}`, ""},
		"N7 P70 zone of a subnet":          {subnet, `forProvider: {zone: zone-a}`, `{"zone":"zone-b"}`, "zone is immutable"},
		"N7 late-initialized zone":         {subnet, `forProvider: {}`, `{"zone":"zone-b"}`, ""},
		"N7 R174 P71 subnets":              {nodeGroup, `forProvider: {subnetIds: [a]}`, `{"subnetIds":["a","b"]}`, "subnetIds is immutable"},
		"N7 removed subnets":               {nodeGroup, `forProvider: {subnetIds: [a]}`, `{"subnetIds":null}`, "subnetIds is immutable"},
		"N7 R174 P71 refs of subnets":      {nodeGroup, `forProvider: {subnetIdRefs: [{name: a}]}`, `{"subnetIdRefs":[{"name":"b"}]}`, "subnetIdRefs is immutable"},
		"N7 R165 resolved subnets":         {nodeGroup, `forProvider: {subnetIdSelector: {}}`, `{"subnetIds":["a"],"subnetIdRefs":[{"name":"b"}]}`, ""},
		"N7 R174 P71 selector of subnets":  {nodeGroup, `forProvider: {subnetIdSelector: {}}`, `{"subnetIdSelector":{"matchControllerRef":true}}`, ""},
		"size and type of a node group":    {nodeGroup, `forProvider: {scalingConfig: [{minSize: 1}]}`, `{"scalingConfig":[{"minSize":2}],"instanceType":"big"}`, ""},
		"labels of others change any time": {nodeGroup, `forProvider: {labels: {a: b}}`, `{"labels":{"a":null,"c":"d"}}`, ""},
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
		"R140 size":                     {`{"initProvider":{"scalingConfig":[{"minSize":2,"maxSize":3}]}}`, ""},
		"R140 what subnets came from":   {`{"initProvider":{"subnetIdRefs":null}}`, ""},
		"N7 subnets":                    {`{"initProvider":{"subnetIds":["b"]}}`, "subnetIds was set in spec.initProvider and is immutable"},
		"N7 removed subnets":            {`{"initProvider":null,"forProvider":{"scalingConfig":[{"minSize":1,"maxSize":2}],"subnetIdSelector":{}}}`, "subnetIds was set"},
		"N7 R142 subnets become others": {`{"forProvider":{"subnetIds":["b"]}}`, "subnetIds was set"},
		"N7 R142 subnets are enforced":  {`{"forProvider":{"subnetIds":["a"]}}`, ""},
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
