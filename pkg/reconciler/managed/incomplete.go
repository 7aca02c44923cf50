// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// errCreateIncomplete is worded as the ecosystem's documentation has it (R85).
var errCreateIncomplete = errors.New("cannot determine creation result - remove the " +
	meta.AnnotationKeyExternalCreatePending + " annotation if it is safe to proceed")

// checkIncompleteCreate looks after a creation that began and whose result was never recorded (R81, R82). If the
// connection secret was written, it tells the result (N22). Otherwise the pass goes on where the external name was
// chosen before the creation, since Observe then finds what was created; else a person must look (N5, R84).
func (r *Reconciler) checkIncompleteCreate(ctx context.Context, p *pass) outcome {
	if !meta.ExternalCreateIncomplete(p.managed) {
		return next()
	}
	name, found, err := r.secrets.recall(ctx, p.managed)
	if err != nil {
		return fail(ReasonCannotInitialize, fmt.Errorf("looking for the result of an interrupted creation: %w", err))
	}
	if found {
		return r.recordCreated(ctx, p, name)
	}
	if r.defaultName == nil {
		return stop(ReasonCannotInitialize, errCreateIncomplete)
	}
	return next()
}

// recordCreated stores that the pending creation succeeded and under which external name, in one write (R79).
func (r *Reconciler) recordCreated(ctx context.Context, p *pass, name string) outcome {
	err := r.recordResult(ctx, p, func(o metav1.Object) {
		meta.SetExternalName(o, name)
		meta.SetExternalCreateSucceeded(o, r.now())
	})
	switch {
	case err != nil:
		return fail(ReasonCannotUpdateMR, fmt.Errorf("recording the creation of the external resource: %w", err))
	case p.overtaken:
		return outcome{end: conflict}
	}
	return next()
}
