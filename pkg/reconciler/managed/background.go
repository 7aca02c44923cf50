// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A verb is a call that may run in the background.
type verb string

const (
	verbCreate verb = "create"
	verbUpdate verb = "update"
	verbDelete verb = "delete"
)

// An operation is one call that runs in the background (R197). A crash loses it, like any call: a creation that was cut
// off stays pending, updates and deletions are repeated.
type operation struct {
	verb verb
	done chan struct{} // closed at the end; what follows is written before

	managed  resource.Managed  // that the call was made with
	adoption resource.Adoption // that counted then
	status   any               // of it, before the call
	inputs   *secretInputs     // that the call was given
	replaces bool              // the call deletes what another call creates again
	rotates  time.Time         // when the rotation began whose credentials the call was given; zero for none
	given    [][]byte          // secret inputs of this call or earlier ones, and stored credentials
	details  ConnectionDetails
	secrets  [][]byte // that the error may repeat
	err      error    // without them
	panics   bool     // the provider's code did not come to an end
}

// perform is the step that makes a call and acts on its result, or has it made in the background.
func (r *Reconciler) perform(v verb) step {
	return func(ctx context.Context, p *pass) outcome {
		p.setNoted()
		switch {
		case p.ended.verb == v:
			return flow.Next()
		case r.callTimeout > 0:
			return r.begin(ctx, p, v)
		}
		op := &operation{verb: v, managed: p.managed, inputs: p.inputs.read, rotates: p.rotation.began, replaces: p.observation.Replacing}
		op.details, op.err = r.call(ctx, v, p.external, p.managed)
		return r.ended(ctx, p, op)
	}
}

// ended acts on the result of a call.
func (r *Reconciler) ended(ctx context.Context, p *pass, op *operation) (o outcome) {
	defer func() {
		if op.panics && o.End.Bad() {
			o.Reason = ReasonPanicked
		}
	}()
	switch op.verb {
	case verbCreate:
		return r.createEnded(ctx, p, op)
	case verbUpdate:
		return r.updateEnded(ctx, p, op)
	default:
		return r.deleteEnded(p, op)
	}
}

// begin makes a call in the background, on a copy of the object. The client belongs to the call from then on.
func (r *Reconciler) begin(ctx context.Context, p *pass, v verb) outcome {
	own := p.managed.DeepCopyObject().(resource.Managed)
	copied, err := treeOf(own)
	if err != nil {
		return failed(ReasonCannotUpdateMR, err)
	}
	op := &operation{verb: v, done: make(chan struct{}), managed: own, adoption: p.adoption, status: copied["status"], inputs: p.inputs.read,
		rotates: p.rotation.began, replaces: p.observation.Replacing}
	op.given = append(r.givenInputs(ctx, p), p.ended.secrets...)
	p.memory.operation = op
	go r.carryOut(ctx, op, p.external)
	p.external = nil
	p.noteCondition(xpv1.AsyncOperationOngoing())
	return flow.Await(0, inBackground(v))
}

// carryOut makes the call of an operation. Whatever the provider's code does, the process continues and the operation ends.
func (r *Reconciler) carryOut(ctx context.Context, op *operation, external ExternalClient) {
	defer r.WakeNow(client.ObjectKeyFromObject(op.managed))
	defer close(op.done)
	defer func() {
		if cause := recover(); cause != nil {
			op.err = op.panicked()
		}
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.callTimeout)
	defer cancel()
	op.details, op.err = r.guarded(ctx, op, external)
	detached, done := detach(ctx) // the call may have used up its time
	defer done()
	op.secrets = append(r.secretsOfCall(detached, op, external), redact.Details(op.details)...)
	op.err = redact.Error(op.err, op.secrets...)
	r.disconnectFrom(ctx, external, op.managed, func(context.Context) [][]byte { return op.secrets })
}

// guarded makes a call whose panic must not end the process.
func (r *Reconciler) guarded(ctx context.Context, op *operation, external ExternalClient) (details ConnectionDetails, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			r.logPanic(ctx, op.managed, op.verb, cause, func(ctx context.Context) [][]byte { return r.secretsOfCall(ctx, op, external) })
			err = op.panicked()
		}
	}()
	return r.call(ctx, op.verb, external, op.managed)
}

// secretsOfCall returns the secrets that messages about a call may repeat.
func (r *Reconciler) secretsOfCall(ctx context.Context, op *operation, external ExternalClient) [][]byte {
	return append(r.secretsOf(ctx, op.managed, external), op.given...)
}

// panicked is the error of a call that may have done anything.
func (op *operation) panicked() error {
	op.panics = true
	err := fmt.Errorf("the provider's code panicked during %s: see the controller's log", op.verb)
	return failure.With(failure.ProviderPanicked, failure.OutcomeUnknown(err))
}

func inBackground(v verb) string {
	return fmt.Sprintf("A call runs in the background: %s. The next pass follows when it ends.", v)
}

// awaitOperation waits for a call that runs in the background, and acts on its result as if the call had been made now.
func (r *Reconciler) awaitOperation(ctx context.Context, p *pass) outcome {
	op := p.memory.operation
	if op == nil {
		if p.managed.GetCondition(xpv1.TypeAsyncOperation).Reason == xpv1.ReasonOngoing {
			p.noteCondition(xpv1.AsyncOperationFinished()) // the process died, or the end of the call was not stored
		}
		return flow.Next()
	}
	select {
	case <-op.done:
	default:
		if r.isPaused(p) {
			return flow.Next()
		}
		p.noteCondition(xpv1.AsyncOperationOngoing())
		return flow.Await(0, inBackground(op.verb))
	}
	p.memory.operation, p.adoption = nil, op.adoption
	p.ended.secrets = op.secrets
	if op.verb != verbUpdate || op.managed.GetGeneration() == p.managed.GetGeneration() {
		p.ended.verb = op.verb
	}
	if err := p.takeStatus(op); err != nil {
		r.logOf(ctx, p.managed).Info("Cannot take over the status of a call in the background", "error", err.Error())
	}
	p.noteCondition(xpv1.AsyncOperationFinished(), op.last())
	return r.ended(ctx, p, op)
}

// last is what the end of a call means for condition LastAsyncOperation (R190 to R192).
func (op *operation) last() xpv1.Condition {
	switch {
	case op.err == nil:
		return xpv1.LastAsyncOperationSuccess()
	case op.verb == verbDelete:
		return xpv1.LastAsyncOperationDestroyFailure(op.err)
	default:
		return xpv1.LastAsyncOperationApplyFailure(op.err)
	}
}

// takeStatus takes over what a call in the background set in the status of its copy of the object, as if the call had been made
// now: what others wrote meanwhile stays, and Observe, which follows, overrides it.
func (p *pass) takeStatus(op *operation) error {
	copied, err := treeOf(op.managed)
	if err != nil {
		return err
	}
	before, after := section(tree{"status": op.status}, "status"), section(copied, "status")
	if reflect.DeepEqual(before, after) {
		return nil
	}
	had, errHad := conditionsOf(before)
	has, errHas := conditionsOf(after)
	if err := errors.Join(errHad, errHas); err != nil {
		return err
	}
	delete(before, "conditions") // others set some meanwhile, and each counts by itself
	delete(after, "conditions")
	if err := p.rebuild(func(u tree) { u["status"] = redo(before, after, section(u, "status")) }); err != nil {
		return err
	}
	for _, c := range has.Conditions {
		if !c.Equal(had.GetCondition(c.Type)) {
			p.noteCondition(c)
		}
	}
	return nil
}

// conditionsOf returns the conditions in a status.
func conditionsOf(status any) (c xpv1.ConditionedStatus, err error) {
	s, _ := status.(tree)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(s, &c); err != nil {
		return c, fmt.Errorf("reading conditions: %w", err)
	}
	return c, nil
}

// redo makes the changes that lead from before to after in another tree. A list is one value.
func redo(before, after, in tree) tree {
	if in == nil {
		in = tree{}
	}
	for key, value := range after {
		part, divides := value.(tree)
		switch {
		case reflect.DeepEqual(before[key], value):
		case divides:
			in[key] = redo(section(before, key), part, section(in, key))
		default:
			in[key] = value
		}
	}
	for key := range before {
		if _, kept := after[key]; !kept {
			delete(in, key)
		}
	}
	return in
}
