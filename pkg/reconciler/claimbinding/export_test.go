// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

// NameFor is for tests that take a name before a claim does.
var NameFor = nameFor
