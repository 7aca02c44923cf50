// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy checks the rules of this repository as tests.
//
// A rule reads the parsed source tree and returns its violations, each with the place. TestRepository applies every rule to
// this repository; the other tests prove with small trees that each rule can fail.
package policy
