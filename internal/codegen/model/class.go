// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "strings"

// classSuffix is the suffix of the name of a class, after that of its managed kind (K29).
const classSuffix = "Class"

// ClassMarker requests a class for a managed kind. Its value is the claim kinds that the class satisfies.
const ClassMarker = "bowline:class"

// ClaimsMarker has the claim kinds that a class of the author satisfies.
const ClaimsMarker = "bowline:claims"

// ClassName returns the name of a managed kind's class.
func (k *Kind) ClassName() string { return k.Name + classSuffix }

// MadeName returns the name of the managed kind of a class. The kind may not exist.
func (k *Kind) MadeName() string { return strings.TrimSuffix(k.Name, classSuffix) }

// ManagedKind returns the managed kind of a class, nil if its package has none of the name.
func (k *Kind) ManagedKind() *Kind {
	name, ok := strings.CutSuffix(k.Name, classSuffix)
	if of := k.Package.Kind(name); ok && k.Role == Class && of != nil && of.Role == Managed {
		return of
	}
	return nil
}

// ClaimKinds returns the claim kinds that a class satisfies, each as Kind.group, in the order of the marker.
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

// addClass adds the class that a marker of a managed kind requests, unless the author wrote it. A namespaced kind has none (N28): teams
// could read the secrets of its managed resources.
func (p *Package) addClass(k *Kind) {
	if k.Role != Managed || k.Scope != Cluster || !k.Struct.Comment.Has(ClassMarker) || p.Declares(k.ClassName()) {
		return
	}
	p.Kinds = append(p.Kinds, &Kind{
		Name: k.ClassName(), Role: Class, Scope: Cluster, Package: p, Struct: k.Struct, Source: k, Parameters: k.Parameters,
		Spec: Ref{p.Path, k.ClassName() + "SpecTemplate"},
	})
}
