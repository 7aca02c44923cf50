// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apis holds the API of the core: what applications ask for, whoever provides it.
//
// The kinds below are claims. A team creates one in its namespace; a class, written by the platform team for some provider's
// managed kind, decides what it becomes; the team gets a Secret that tells how to connect. Which provider that is may differ
// from one installation to the next, so a claim has the few settings only that all of them have in common.
//
//	database.crossplane.io/v1alpha1  PostgreSQLInstance, MySQLInstance, FancySQLInstance
//	cache.crossplane.io/v1alpha1     RedisCluster
//	storage.crossplane.io/v1alpha1   Bucket
//	compute.crossplane.io/v1alpha1   KubernetesCluster
//
// A KubernetesTarget, of workload.crossplane.io/v1alpha1, asks for nothing new: it brings a copy of the connection Secret of a
// managed resource that others made, if that one allows it.
//
// A claim of a kind that no installed class satisfies says so in its condition Ready. Package common/v1 holds what all kinds
// have in common, package crds the definitions.
package apis
