// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package flow runs the passes of reconcilers: a pass is a list of steps, and one table maps its ending to conditions, event and
// requeue.
//
// A Step does one thing and returns an Outcome; Run stops at the first that does not continue. Steps neither write conditions nor emit
// events: the reconciler does at the end of the pass, from the table in rules.go. That has the requeue, too; a step that knows better
// when the next pass is due returns it in the Outcome.
//
//	o := flow.Run(ctx, p, r.guard, r.connect, r.observe)
//	synced, state := o.Synced(), o.State()
//	e, speaks := o.Event()
//	after := o.Delay(timing) // or o.Result(poll), where the queue of the controller backs off
package flow
