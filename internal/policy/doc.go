// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy keeps the rules of this repository that a machine can check: they run as tests.
//
// A rule reads the parsed source tree and returns what breaks it, each with the place and the reason. TestRepository runs
// every rule over this repository; the other tests prove with small made-up trees that each of them can fail.
package policy
