// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package why explains why an object is not ready, and what to do.
//
//	e := why.Explain(ctx, cluster, found)
//	err := why.WriteText(os.Stdout, e, time.Now())
//
// # The one idea
//
// Controllers report typed reasons in conditions; advice.go is the table from a reason to its advice. No message is read: messages
// are only printed. What conditions do not contain, this package checks itself: it reads the objects that the object names, as far
// as this user may read them. A claim is explained together with its managed resource.
//
// Each check is a function that adds to the explanation; the lists of checks are in claim.go, managed.go and common.go.
package why
