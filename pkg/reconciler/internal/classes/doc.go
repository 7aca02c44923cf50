// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package classes knows which classes there are for the claims of one kind, whoever provides them, and which of them a claim
// gets.
//
// The one idea: everybody who chooses sees the same. The definition of a class kind says which claim kinds it is for, by label
// and annotation, so that the class kinds of all providers are known without knowing the providers. A choice needs no request,
// unless classes are for some namespaces only: then the labels of the claim's namespace are read.
//
//	all := classes.For(mgr, claimKind)
//	class, err := all.Choose(ctx, claim)
//
// Schedulers, defaulters and the core controller of claims each have a view of their own onto the informers of the manager's
// cache, which they share. An Assigner is what a scheduler and a defaulter have in common.
package classes
