// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch holds what controllers learn while they run, and the watches that follow from it: the kinds that objects refer to,
// the objects that others wait for, and the classes that exist.
//
// Nothing here is stored. A new process learns it again in its first passes.
package watch
