// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// MessageCreateIncomplete is the message of condition Synced of an object that waits for a person because its creation was
// cut off, worded as the ecosystem's documentation has it (R85).
const MessageCreateIncomplete = "cannot determine creation result - remove the " +
	meta.AnnotationKeyExternalCreatePending + " annotation if it is safe to proceed"

var errCreateIncomplete = errors.New(MessageCreateIncomplete)

// recallCreate looks for the result of a creation that began and whose result was never recorded (R81, R82): this
// process may remember it, and the connection secret tells it if it was written (N22).
func (r *Reconciler) recallCreate(ctx context.Context, p *pass) outcome {
	if !meta.ExternalCreateIncomplete(p.managed) {
		return next()
	}
	if p.memory.created != "" && p.memory.createdPending.Equal(meta.GetExternalCreatePending(p.managed)) {
		return r.recordCreated(ctx, p, p.memory.created)
	}
	name, details, err := r.secrets.recall(ctx, p.managed)
	if err != nil {
		return fail(ReasonCannotInitialize, fmt.Errorf("looking for the result of an interrupted creation: %w", err))
	}
	if name != "" {
		p.remember(details)
		return r.recordCreated(ctx, p, name)
	}
	return next()
}

// checkIncompleteCreate decides about a creation without a result. The pass goes on where the external name was chosen
// before the creation, since Observe then finds what was created, and where Create repeats its answer; where the client
// can find what was created, it is asked; else a person must look (N5, R84). A deletion never creates (R61), so there
// only a known name helps.
func (r *Reconciler) checkIncompleteCreate(ctx context.Context, p *pass) outcome {
	if r.defaultName != nil || !meta.ExternalCreateIncomplete(p.managed) || p.nothingCreated() {
		return next()
	}
	if p.mustReplay() && (!meta.WasDeleted(p.managed) || meta.GetExternalName(p.managed) != "") {
		return next()
	}
	if finder, ok := createFinderOf(p.external); ok {
		return r.findCreated(ctx, p, finder)
	}
	return stop(ReasonCannotInitialize, errCreateIncomplete)
}

// findCreated heals a creation without a result by looking for what it created (N5). What is not found by the time at
// which it would have shown is proven absent (N26), and the pass goes on.
func (r *Reconciler) findCreated(ctx context.Context, p *pass, finder CreateFinder) outcome {
	name, err := r.found(ctx, finder, p.managed)
	if err != nil {
		return fail(ReasonCannotInitialize, fmt.Errorf("looking for what an interrupted creation left behind: %w", err))
	}
	if name != "" {
		return r.recordCreated(ctx, p, name)
	}
	if left := r.graceLeft(p); left > 0 {
		return await(left, waitsToAppear)
	}
	return next()
}

// recoverable is true if a creation whose result is lost needs no person: its name is known beforehand, its answer can be
// had again, or what it created can be found.
func (r *Reconciler) recoverable(p *pass) bool {
	_, finds := createFinderOf(p.external)
	return r.defaultName != nil || p.mustReplay() || finds
}

// recordCreated stores that the pending creation succeeded and under which external name, in one write (R79).
func (r *Reconciler) recordCreated(ctx context.Context, p *pass, name string) outcome {
	if p.planning {
		meta.SetExternalName(p.managed, name)
		return next()
	}
	err := r.recordResult(ctx, p, func(o metav1.Object) {
		meta.SetExternalName(o, name)
		meta.SetExternalCreateSucceeded(o, r.now())
		setCreatedKeys(o, slices.Concat(CreatedKeys(o), p.memory.told))
		p.notePublished(o)
	})
	switch {
	case err != nil:
		p.memory.created, p.memory.createdPending = name, meta.GetExternalCreatePending(p.managed)
		return fail(ReasonCannotUpdateMR, fmt.Errorf("recording the creation of the external resource: %w", err))
	case p.overtaken:
		return outcome{end: conflict}
	}
	return next()
}
