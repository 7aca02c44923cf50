// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults selects the faults of calls: latency, throttling, errors, dropped answers and stale reads. It also counts calls.
//
// It only decides, by the rules of an administrator and a seeded generator; package httpapi injects the faults that Judge returns.
// So the same calls in the same order get the same faults.
package faults
