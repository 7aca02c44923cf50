// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "strings"

// classSuffix is what the name of a class adds to that of its managed kind (K29).
const classSuffix = "Class"

// ClassMarker says of a managed kind that it has a class, and which claim kinds that satisfies.
const ClassMarker = "bowline:class"

// ClaimsMarker says of a class that an author declared which claim kinds it satisfies.
const ClaimsMarker = "bowline:claims"

// ClassName returns the name of a managed kind's class.
func (k *Kind) ClassName() string { return k.Name + classSuffix }

// MadeName returns the name of the kind that a class is a template for, be it there or not.
func (k *Kind) MadeName() string { return strings.TrimSuffix(k.Name, classSuffix) }

// ManagedKind returns the managed kind that a class is a template for, nil if its package has none of the name.
func (k *Kind) ManagedKind() *Kind {
	name, ok := strings.CutSuffix(k.Name, classSuffix)
	if of := k.Package.Kind(name); ok && k.Role == Class && of != nil && of.Role == Managed {
		return of
	}
	return nil
}

// ClaimKinds returns the claim kinds that a class satisfies, each as Kind.group, in the author's order.
func (k *Kind) ClaimKinds() []string {
	value := k.Struct.Comment.Value(ClaimsMarker)
	if of := k.ManagedKind(); value == "" && of != nil {
		value = of.Struct.Comment.Value(ClassMarker)
	}
	var kinds []string
	for kind := range strings.SplitSeq(value, ",") {
		if kind = strings.TrimSpace(kind); kind != "" {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// addClass adds the class that a marker of a managed kind asks for, unless the author wrote it. Managed resources of a
// namespaced kind have none (N28): their secrets are where teams read.
func (p *Package) addClass(k *Kind) {
	if k.Role != Managed || k.Scope != Cluster || !k.Struct.Comment.Has(ClassMarker) || p.Declares(k.ClassName()) {
		return
	}
	p.Kinds = append(p.Kinds, &Kind{
		Name: k.ClassName(), Role: Class, Scope: Cluster, Package: p, Struct: k.Struct, Source: k, Parameters: k.Parameters,
		Spec: Ref{p.Path, k.ClassName() + "SpecTemplate"},
	})
}
