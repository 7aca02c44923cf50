// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusters connects to the Kubernetes clusters of targets: one client for each target in use, made from the kubeconfig in the
// target's Secret, and replaced when that changes.
//
//	cluster, err := all.For(ctx, target)
//	defer cluster.Release()
//	object, err := cluster.Find(kind, desired.GetNamespace(), desired.GetName())
//	live, err := cluster.Apply(ctx, object, desired, clusters.ApplyOptions{Owner: "bowline"})
//
// A Cluster holds one watch for each kind and namespace in which it has objects, of those with LabelKeyWorkload only, so that the
// credentials need no rights beyond these namespaces. Nothing is polled.
//
// Calls are bounded as those of provider configurations are: an unreachable or slow cluster delays nobody but its own users (package
// limits). Errors are classified by package failure.
package clusters
