// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// A Step does one thing in a pass of type P. It stores only what must survive a crash.
type Step[P any] func(context.Context, P) Outcome

// Run runs steps in order and returns the outcome of the first that does not continue.
func Run[P any](ctx context.Context, p P, steps ...Step[P]) Outcome {
	for _, do := range steps {
		if o := do(ctx, p); o.End != Continue {
			return o
		}
	}
	return Next()
}

// An Outcome is the result of a step.
type Outcome struct {
	// End decides how the pass ends.
	End Ending
	// Reason of the event, and of condition Ready for reconcilers that set it so.
	Reason event.Reason
	// Err is set for the endings Stop, Reject, Throttle and Fail; package failure classifies it.
	Err error
	// Message of Wait and Pause, for people.
	Message string
	// Cause of Wait, for programs; empty for a wait that is part of healthy work.
	Cause failure.Reason
	// After is when the next pass is due, where the step knows better than the table. Zero: it does not.
	After time.Duration
}

// Next continues with the following step.
func Next() Outcome { return Outcome{End: Continue} }

// Await ends the pass well: it has to wait, at most for the given time if that is not zero.
func Await(atMost time.Duration, message string) Outcome {
	return Outcome{End: Wait, After: atMost, Message: message}
}

// AwaitFor is Await with the cause in condition Reconciling.
func AwaitFor(cause failure.Reason, atMost time.Duration, message string) Outcome {
	return Outcome{End: Wait, After: atMost, Message: message, Cause: cause}
}

// AwaitFinalizers waits until an object under deletion has no finalizer but our own, and continues then. The removal of another
// one enqueues the object.
func AwaitFinalizers(o client.Object, own string) Outcome {
	others := slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(f string) bool { return f == own })
	switch {
	case len(o.GetFinalizers()) == 0:
		return Vanished()
	case len(others) == 0:
		return Next()
	}
	names := strings.Join(others, ", ")
	wait := AwaitFor(failure.WaitingForFinalizers, 0, "Deletion waits until other finalizers are removed: "+names+".")
	wait.Reason = event.Reason(failure.WaitingForFinalizers)
	return wait
}

// Paused ends the pass of an object that is paused.
func Paused(reason event.Reason, message string) Outcome {
	return Outcome{End: Pause, Reason: reason, Message: message}
}

// Stopped ends the pass until a person acts on the error.
func Stopped(reason event.Reason, err error) Outcome {
	return Outcome{End: Stop, Reason: reason, Err: err}
}

// Rejected ends the pass with an error that the same input would meet again: it is retried at the next poll, or when
// something changes.
func Rejected(reason event.Reason, err error) Outcome {
	return Outcome{End: Reject, Reason: reason, Err: err}
}

// Failed ends the pass with an error, which is retried with backoff: unless the external system asks for time
// (failure.RetryAfter), or repeating cannot help (failure.Terminal, reconcile.TerminalError).
func Failed(reason event.Reason, err error) Outcome {
	o := Outcome{End: Fail, Reason: reason, Err: err}
	if after, asked := failure.RetryAfter(err); asked {
		o.End, o.After = Throttle, after
	} else if failure.IsTerminal(err) || errors.Is(err, reconcile.TerminalError(nil)) {
		o.End = Reject
	}
	return o
}

// Written is the outcome of a write that is refused if the object changed since it was read: a conflict is no failure,
// since the watch brings the object back (R17). Without an error the pass continues.
func Written(reason event.Reason, err error) Outcome {
	switch {
	case err == nil:
		return Next()
	case apierrors.IsConflict(err):
		return Outcome{End: Conflict, Err: err}
	default:
		return Failed(reason, err)
	}
}

// Conflicted ends the pass because another writer was first.
func Conflicted() Outcome { return Outcome{End: Conflict} }

// Vanished ends the pass because there is no object left to write to, or nothing to write.
func Vanished() Outcome { return Outcome{End: Gone} }
