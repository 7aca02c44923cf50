// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults decides what goes wrong: which calls are late, throttled, refused or never answered, and which objects
// are not seen yet. It also counts calls.
//
// It only decides, by rules that an administrator sets and a seeded generator; package httpapi carries out what Judge
// returns. So the same calls in the same order meet the same faults.
package faults
