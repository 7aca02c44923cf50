// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// prepare has the initializers and the finalizer of the provider do their part. What they write is part of the pass.
func (r *Reconciler) prepare(ctx context.Context, p *pass) outcome {
	for _, i := range r.initializers {
		if o := r.extend(p, i.Initialize(ctx, p.managed)); o.End != flow.Continue {
			return o
		}
	}
	if r.finalizer == nil {
		return flow.Next()
	}
	return r.extend(p, r.finalizer.AddFinalizer(ctx, p.managed))
}

// extend continues a pass after code of the provider that may have written to the object.
func (r *Reconciler) extend(p *pass, err error) outcome {
	if apierrors.IsConflict(err) {
		return flow.Conflicted()
	}
	if err == nil && p.managed.GetResourceVersion() != p.resourceVersion {
		stored := &reading{}
		stored.built, err = treeOf(p.managed)
		p.object = r.objectOf(p.managed, stored)
	}
	if err != nil {
		return failed(ReasonCannotInitialize, fmt.Errorf("preparing the object: %w", err))
	}
	return flow.Next()
}

// initialize finds the external name of the object: its own, the default, or that of a creation whose result was not recorded.
func (r *Reconciler) initialize(ctx context.Context, p *pass) outcome {
	r.chooseName(p)
	if err := meta.CheckExternalName(meta.GetExternalName(p.managed)); err != nil && !HadExternalResource(p.managed) && !meta.WasDeleted(p.managed) {
		err = fmt.Errorf("annotation %s: %w", meta.AnnotationKeyExternalName, err)
		return rejected(ReasonCannotInitialize, failure.ForTeam(failure.InvalidSettings, err.Error(), err))
	}
	return r.recallCreate(ctx, p)
}

// chooseName chooses the external name of an object that has none, in memory: it is stored together with what must be stored
// before Create anyway (R52, R63, R77). It also finds out whether a user chose the name, which is the consent to adopt an
// external resource: a default name is never stored without creation annotations, except for objects that only observe; a
// user who permits such an object more has seen what it observes. A name that a claim proposed is no consent (N6, N24).
func (r *Reconciler) chooseName(p *pass) {
	name, proposed := meta.GetExternalName(p.managed), meta.IsExternalNameProposed(p.managed)
	began := !meta.GetExternalCreatePending(p.managed).IsZero()
	switch {
	case r.defaultName == nil:
		p.nameGiven = name != "" && !began && !proposed
	case name == "":
		meta.SetExternalName(p.managed, r.defaultName(p.managed))
	default:
		p.nameGiven = (!began || name != r.defaultName(p.managed)) && !proposed
	}
}

// recallCreate looks for the result of a creation that began and whose result was not recorded: this process may remember it, and
// the connection Secret has it if that was written (R81, R82, N22).
func (r *Reconciler) recallCreate(ctx context.Context, p *pass) outcome {
	if !meta.ExternalCreateIncomplete(p.managed) {
		return flow.Next()
	}
	if p.memory.created != "" && p.memory.createdPending.Equal(meta.GetExternalCreatePending(p.managed)) {
		return r.recordCreated(ctx, p, p.memory.created)
	}
	name, details, err := r.secrets.Recall(ctx, p.managed)
	if err != nil {
		return failed(ReasonCannotInitialize, fmt.Errorf("looking for the result of an interrupted creation: %w", err))
	}
	if name != "" {
		p.rememberKeys(details)
		return r.recordCreated(ctx, p, name)
	}
	return flow.Next()
}
