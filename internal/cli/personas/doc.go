// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package personas derives the cluster roles of people from the definitions of kinds.
//
//	           claims,  classes   managed resources and configurations   Secrets
//	           targets            cluster-scoped      namespaced
//	view       read     read      -                   -                  -
//	edit       write    read      -                   -                  read
//	admin      write    write     write               read               read
//	browse     -        read      -                   -                  -
//
// The roles view, edit and admin are aggregated to those of Kubernetes with the same names, so an editor of a namespace may use
// claims in it. They are meant for bindings in a namespace, where they grant nothing on cluster-scoped kinds such as classes; browse
// is for that and is bound for the whole cluster.
//
// Kubernetes keeps the events of cluster-scoped objects in namespace default. A role that is bound there shows the events of all
// managed resources and configurations.
//
// No role grants writing managed resources in a namespace, not even admin. A namespaced managed resource may use every
// ClusterProviderConfig, and so the accounts of the platform: its author could create what no class offers, without the limits of
// classes, and adopt existing resources by their external names. Grant that right on purpose, with a role of your own.
package personas
