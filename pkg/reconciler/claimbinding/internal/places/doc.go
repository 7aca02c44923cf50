// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package places counts the claims that use a class with a limit.
//
// A class lists its claims in an annotation. A claim gets its place before anything is created for it, and gives it up when it is
// deleted. Every write is guarded by the resource version of the class, so that no race exceeds the limit. Entries that a crash left
// are removed when the class is full. Managed resources that still name their claim count, too.
package places
