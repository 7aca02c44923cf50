// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint finds what is against the patterns for API types, at the line where it is, before anything is generated.
//
// The one idea: a mistake in a type is cheap until the first object is stored, so it is an error and not a warning. Each
// rule has a name and a message that says what to do. Where a rule is wrong for a field, the author says why:
//
//	// +bowline:nolint=plain-secret the name of a token, which everybody may know
//
// Rules returns them all.
package lint
