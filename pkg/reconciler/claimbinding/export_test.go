// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import "sigs.k8s.io/controller-runtime/pkg/predicate"

// NameFor is for tests that take a name before a claim does.
var NameFor = nameFor

// Mine tells which events of claims wake the controller.
func Mine(r *Reconciler) predicate.Funcs { return r.mine() }
