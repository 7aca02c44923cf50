// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package parameters does with the parameters of a managed resource, spec.forProvider and spec.initProvider, what every
// kind needs and no author should write by hand.
//
// Its one idea: parameters are trees of JSON values, whatever Go type an author gives them, and a field is what a tree
// holds at a path such as scalingConfig[0].maxSize. What Create sends is one tree laid over another, late initialization
// fills what is empty in a tree, drift is a list of paths.
//
//	desired, err := parameters.ForCreation(mg.Spec.ForProvider, mg.Spec.InitProvider)                   // in Create
//	changed, err := parameters.LateInitialize(&mg.Spec.ForProvider, theirs, parameters.InitProvider(mg.Spec.InitProvider))
//	drift, err := parameters.Compare(mg.Spec.ForProvider, theirs, parameters.AsSet("zones"))            // in Observe
//
// Here theirs is what the vendor answered, converted to the kind's own parameters. ForCreation, LateInitialize and Compare
// take Go structs; Overlay, Fill and Differences do the same with trees, for kinds that have no Go type. Trees are what
// unstructured objects consist of: map[string]any, []any, string, bool, int64, float64 and nil, which means absent.
//
// No function changes what it is given, other than LateInitialize the parameters it is to fill, and results share nothing
// with arguments. Package managed decides when each operation runs.
package parameters
