// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/bowline-dev/bowline/test/inspect"
)

// A kind is a managed kind of the provider. Its names are chosen, or its creations can be repeated or found: no interrupted create
// may need manual intervention. Upper-case words in its texts are those of site.object.
type kind struct {
	name string
	// object is YAML as a user declares it, with PLAIN in place of OPTION, or with option in operations that choose it.
	object, plain, option string
	// change is a merge patch, and setting the path below spec.forProvider of what it changes, as inspect.External has it.
	change, setting string
	// opens returns nil if a connection Secret opens its server. Nil for kinds without one.
	opens func(ctx context.Context, data map[string][]byte) error
	// parent is the kind that option refers to.
	parent *kind
	// claim and class are YAML of kinds of operations on claims. The class has the settings of the object.
	claim, class string
	operations   []operation
}

func kinds() []kind {
	const (
		configured = "providerConfigRef: {name: SITE}"
		connected  = configured + ", writeConnectionSecretToRef: {namespace: SITE, name: connection}"
		team       = "providerConfigRef: {kind: ClusterProviderConfig, name: SITE}"
		password   = "passwordSecretRef: {namespace: SITE, name: password, key: password}, "
		claimed    = "metadata: {namespace: SITE, name: NAME}, spec: {writeConnectionSecretToRef: {name: claimed}, OPTION}"
		offered    = "metadata: {name: SITE-NAME}, specTemplate: {" + configured + ", writeConnectionSecretsToNamespace: SITE, OPTION "
	)
	database := kind{
		name: "FavouriteDBInstance", opens: inspect.OpensPostgreSQL, option: password,
		object: "{apiVersion: database.fcp.crossplane.io/v1alpha3, kind: FavouriteDBInstance, metadata: {name: SITE-NAME}, " +
			"spec: {" + connected + ", forProvider: {OPTION fancinessLevel: 20}}}",
		change: `{"spec":{"forProvider":{"fancinessLevel":30}}}`, setting: "fancinessLevel",
		operations: append(common(), passwords()...),
	}
	cache := kind{
		name: "CacheInstance", opens: inspect.OpensRedis, option: password,
		object: "{apiVersion: cache.fcp.crossplane.io/v1alpha3, kind: CacheInstance, metadata: {name: SITE-NAME}, " +
			"spec: {" + connected + ", forProvider: {OPTION memoryMegabytes: 8}}}",
		change: `{"spec":{"forProvider":{"memoryMegabytes":16}}}`, setting: "memoryMegabytes",
		operations: append(common(), passwords()...),
	}
	clusterNetwork := kind{
		name: "ClusterNetwork", change: `{"spec":{"forProvider":{"mtu":9000}}}`, setting: "mtu",
		object: "{apiVersion: network.fcp.crossplane.io/v1alpha3, kind: Network, metadata: {name: SITE-NAME}, " +
			"spec: {" + configured + ", forProvider: {cidrBlock: 10.0.0.0/8, mtu: 1400}}}",
		operations: append(common(), configs()...),
	}
	teamNetwork := clusterNetwork
	teamNetwork.name = "Network"
	teamNetwork.object = "{apiVersion: network.fcp.m.crossplane.io/v1alpha3, kind: Network, metadata: {namespace: SITE, name: NAME}, " +
		"spec: {" + team + ", forProvider: {cidrBlock: 10.0.0.0/8, mtu: 1400}}}"
	subnet := kind{
		name: "Subnet", plain: "networkId: NETWORK", option: "networkIdRef: {name: parent}", parent: &teamNetwork,
		object: "{apiVersion: network.fcp.m.crossplane.io/v1alpha3, kind: Subnet, metadata: {namespace: SITE, name: NAME}, " +
			"spec: {" + team + ", forProvider: {cidrBlock: 10.1.0.0/16, labels: {tier: web}, OPTION}}}",
		change: `{"spec":{"forProvider":{"labels":{"tier":"data"}}}}`, setting: "labels." + inspect.TierLabel,
		operations: append(common(), parents()...),
	}
	nodeGroup := kind{
		name: "NodeGroup", plain: "subnetIds: [SUBNET]", option: "subnetIdRefs: [{name: parent}]", parent: &subnet,
		object: "{apiVersion: compute.fcp.m.crossplane.io/v1alpha3, kind: NodeGroup, metadata: {namespace: SITE, name: NAME}, " +
			"spec: {" + team + ", forProvider: {scalingConfig: [{minSize: 1, maxSize: 4}], OPTION}, " +
			"initProvider: {scalingConfig: [{desiredSize: 2}]}}}",
		change: `{"spec":{"forProvider":{"scalingConfig":[{"minSize":1,"maxSize":6}]}}}`, setting: "scalingConfig[0].maxSize",
		operations: append(common(), parents()...),
	}
	// A cache is created fast: it has all operations on claims. The creation of a database takes long.
	claim, databaseClaim := cache, database
	claim.name, claim.operations = "Claim", append(append(choosing(), serving()...), static()...)
	claim.claim = "{apiVersion: cache.crossplane.io/v1alpha1, kind: RedisCluster, " + claimed + "}"
	claim.class = "{apiVersion: cache.fcp.crossplane.io/v1alpha3, kind: CacheInstanceClass, " + offered + "forProvider: {memoryMegabytes: 8}}}"
	databaseClaim.name, databaseClaim.operations = "DatabaseClaim", serving()
	databaseClaim.claim = "{apiVersion: database.crossplane.io/v1alpha1, kind: PostgreSQLInstance, " + claimed + "}"
	databaseClaim.class = "{apiVersion: database.fcp.crossplane.io/v1alpha3, kind: FavouriteDBInstanceClass, " + offered +
		"forProvider: {fancinessLevel: 20}}}"
	return []kind{database, cache, clusterNetwork, teamNetwork, subnet, nodeGroup, claim, databaseClaim}
}
