// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint checks types of an API against the patterns for APIs, before anything is generated.
//
// A mistake in a type is cheap until the first object is stored, so every problem is an error. A problem has a position, the name
// of a rule and a message that says what to write. An author who has a reason to break a rule states it:
//
//	// +bowline:nolint=plain-secret the name of a token, which is public
//
// Rules returns all rules.
package lint
