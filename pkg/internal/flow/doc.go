// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flow is the kernel of every reconciler of Bowline: a pass is a list of steps, and one table says what becomes of
// it.
//
// A Step does one thing and returns an Outcome; Run stops at the first that does not continue. Steps never write
// conditions, emit events or choose the requeue: the reconciler's settle does, from the table in rules.go.
//
//	o := flow.Run(ctx, p, r.guard, r.connect, r.observe)
//	synced, state := o.Synced(), o.State()
//	e, speaks := o.Event()
//	after := o.Delay(timing) // or o.Result(poll), where the queue of the controller backs off
package flow
