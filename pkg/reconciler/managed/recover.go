// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// messageCreateIncomplete is the message of condition Synced of an object that needs manual intervention after an interrupted
// create, in the words of the ecosystem's documentation (R85). Programs read reason CreateInterrupted of condition Stalled.
const messageCreateIncomplete = "cannot determine creation result - remove the " +
	meta.AnnotationKeyExternalCreatePending + " annotation if it is safe to proceed"

// recover decides about a create without a result. The pass continues where the name was chosen beforehand, since Observe then
// finds what was created, and where Create repeats its answer. Otherwise the client looks for it, or the object needs manual
// intervention. A deletion never creates, so there only a known name helps (N5, R84, R61).
func (r *Reconciler) recover(ctx context.Context, p *pass) outcome {
	if r.lostName(p) {
		return r.recoverName(ctx, p)
	}
	if r.defaultName != nil || !meta.ExternalCreateIncomplete(p.managed) || p.nothingCreated() {
		return flow.Next()
	}
	p.observation.System = connectedSystem(p.external)
	if o := r.checkSystem(p); o.End != flow.Continue { // what is not found there proves nothing
		return o
	}
	if p.mustReplay() && (!meta.WasDeleted(p.managed) || meta.GetExternalName(p.managed) != "") {
		return flow.Next()
	}
	if find := finderOf(p.external); find != nil {
		return r.findCreated(ctx, p, find)
	}
	return stopped(ReasonCannotInitialize, failure.New(failure.CreateInterrupted, messageCreateIncomplete))
}

// findCreated looks for what an interrupted create made. The pass continues if that is not found when it would be visible (N5, N26).
func (r *Reconciler) findCreated(ctx context.Context, p *pass, find finder) outcome {
	name, err := read(ctx, r, verbFind, p, find)
	if errors.Is(err, ErrCreateAgain) {
		p.createsAgain = true
		return flow.Next()
	}
	if err != nil {
		return lookupFailed(err)
	}
	if name != "" {
		p.memory.proof = r.proofOf(p, p.managed, name)
		return r.recordFound(ctx, p, name)
	}
	return r.awaitAppearance(p)
}

// lookupFailed classifies the error as that of a call, which the reason of the event does not.
func lookupFailed(err error) outcome {
	class := failure.Of(failure.Default(failure.ExternalCallFailed, err))
	return failed(ReasonCannotInitialize, fmt.Errorf("looking for what was created: %w",
		failure.ForTeam(class.Reason, class.Message, err)))
}

// isRecoverable is true if a creation whose result is lost needs no manual intervention: its name is known beforehand, its
// answer can be had again, or what it created can be found.
func (r *Reconciler) isRecoverable(p *pass) bool {
	return r.defaultName != nil || p.mustReplay() || finderOf(p.external) != nil
}

// recordCreated stores that the pending creation succeeded and under which external name, in one write, after the proof (R79, N54).
func (r *Reconciler) recordCreated(ctx context.Context, p *pass, name string) outcome {
	if p.planning {
		meta.SetExternalName(p.managed, name)
		return flow.Next()
	}
	err := r.proveCreated(ctx, p, name)
	if err == nil || errors.Is(err, errPruned) { // without its proof the object says what to do; without its name the resource would leak
		err = r.recordResult(ctx, p, func(o metav1.Object) {
			if !meta.WasDeleted(o) { // with the name, it may have been lost
				meta.AddFinalizer(o, Finalizer)
			}
			meta.SetExternalName(o, name)
			meta.SetExternalCreateSucceeded(o, r.now())
			connection.SetCreatedKeys(o, slices.Concat(connection.CreatedKeys(o), p.memory.oneTimeKeys))
		})
	}
	switch {
	case err != nil:
		p.memory.created, p.memory.createdPending = name, meta.GetExternalCreatePending(p.managed)
		return failed(ReasonCannotUpdateMR, fmt.Errorf("recording the creation of the external resource: %w", err))
	case p.overtaken:
		return flow.Conflicted()
	}
	return flow.Next()
}

var errOvertaken = errors.New("another process began to create the external resource")
