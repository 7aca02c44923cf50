// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package personas says who may do what with the kinds of Bowline: as cluster roles of Kubernetes, derived from the
// definitions of the kinds.
//
//	           claims,  classes   managed resources and configurations   Secrets
//	           targets            cluster-scoped      namespaced
//	view       read     read      -                   -                  -
//	edit       write    read      -                   -                  read
//	admin      write    write     write               read               read
//	browse     -        read      -                   -                  -
//
// The roles view, edit and admin are aggregated to those of Kubernetes that have their names, so whoever edits a namespace
// may use claims in it. They are meant to be bound in a namespace, where they say nothing of cluster-scoped kinds: a team
// with a role in its namespace sees no class. That is what browse is for, which is bound for the whole cluster.
//
// Kubernetes keeps the events of cluster-scoped objects in namespace default. Its own role view, bound there, shows what happens
// to the managed resources and configurations of everybody, as our roles do: nobody should be bound in default for whom that is
// not meant.
//
// Nobody who is bound in a namespace may write managed resources in it, not even its admin. A namespaced managed resource may
// use every ClusterProviderConfig, and so the accounts of the platform: whoever writes one makes what no class offers,
// without the limits of the classes, and can take over what exists by its external name. Writing them is a right to give on
// purpose, with a role of one's own, and not one that every admin of a namespace has on the day Bowline is installed.
package personas
