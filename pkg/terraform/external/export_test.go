// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external

// Shown is how messages show a value.
var Shown = shown
