// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parameters merges, late-initializes and compares the parameters of managed resources: spec.forProvider and
// spec.initProvider.
//
// The one idea: parameters of any Go type are trees of JSON values, and a field is the value at a path such as
// scalingConfig[0].maxSize. Create sends one tree merged over another, late initialization fills empty fields of a tree, and
// drift is a list of paths.
//
//	desired, err := parameters.ForCreation(mg.Spec.ForProvider, mg.Spec.InitProvider)                   // in Create
//	changed, err := parameters.LateInitialize(&mg.Spec.ForProvider, theirs, parameters.InitProvider(mg.Spec.InitProvider))
//	drift, err := parameters.Compare(mg.Spec.ForProvider, theirs, parameters.AsSet("zones"))            // in Observe
//
// Here theirs is the vendor's answer, converted to the parameters of the kind. ForCreation, LateInitialize and Compare take
// Go structs; Overlay, Fill and Differences do the same with trees, for kinds without a Go type. Trees consist of
// map[string]any, []any, string, bool, int64, float64 and nil, which means absent, as in unstructured objects.
//
// No function modifies its arguments, except LateInitialize, and results share no memory with them.
package parameters
