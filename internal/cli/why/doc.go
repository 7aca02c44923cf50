// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package why says in plain words what an object waits for.
//
//	e := why.Explain(ctx, cluster, found)
//	err := why.WriteText(os.Stdout, e, time.Now())
//
// # The one idea
//
// Controllers say what they met; this package looks for itself as well. It takes conditions, annotations and events, as far as
// this user may read them, checks whether what the object names is there, and makes of it: what is in the way, the last
// step, the last error with its reason, what happens next, and what a person can do, which is in the catalogue of reasons
// (package managed, docs/reasons.md, and reasons.go here for claims). A claim is explained together with its managed resource.
//
// Each check is a function that looks for one thing; the lists are in claim.go, managed.go and other.go.
package why
