// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

// Run is Main without the process.
var Run = run
