// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis holds the API of the core: claims and targets, which are independent of a provider.
//
// The kinds below are claims. A team creates one in its namespace; a class, written by the platform team for some provider's
// managed kind, decides what it becomes; the team gets a Secret with connection details. The provider may differ
// between installations, so a claim has only the few settings that all of them share.
//
//	database.crossplane.io/v1alpha1  PostgreSQLInstance, MySQLInstance, FancySQLInstance
//	cache.crossplane.io/v1alpha1     RedisCluster
//	storage.crossplane.io/v1alpha1   Bucket
//	compute.crossplane.io/v1alpha1   KubernetesCluster
//
// A KubernetesTarget, of workload.crossplane.io/v1alpha1, copies the connection Secret of an existing managed resource that permits
// it. A KubernetesApplication runs in the cluster of a target; each of its objects there has a KubernetesApplicationResource.
//
// Condition Ready of a claim shows if no installed class satisfies it. Package common/v1 has the fields that all kinds share,
// package crds the definitions.
package apis
