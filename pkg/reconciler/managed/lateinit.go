// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/parameters"
)

// takeChosen takes what Observe filled into the spec out of it again, to be judged by lateInitialize.
func (p *pass) takeChosen() error {
	observed, err := treeOf(p.managed)
	if err != nil {
		return err
	}
	p.chosen = section(observed["spec"], "forProvider")
	return p.rebuild(func(u tree) { put(u, "spec", p.spec) })
}

// lateInitialize stores in spec.forProvider what the external system chose for fields that the user left empty (R149,
// R150). A value that the user set stays, and a field that initProvider sets is not taken over, since it would be
// enforced from then on (R146).
func (r *Reconciler) lateInitialize(ctx context.Context, p *pass) outcome {
	if !p.observation.ResourceLateInitialized || !p.allows(xpv1.ManagementActionLateInitialize) {
		return r.storeSpec(ctx, p)
	}
	err := p.changeSpec(func(spec tree) {
		filled, _ := parameters.Fill(section(spec, "forProvider"), p.chosen, parameters.InitProvider(section(spec, "initProvider")))
		put(spec, "forProvider", filled)
	})
	if err != nil {
		return fail(ReasonCannotUpdateMR, fmt.Errorf("late initialization: %w", err))
	}
	return r.storeSpec(ctx, p)
}

// storeSpec stores the spec if a step changed it, so that nothing is sent to the external system that the object does not
// show (R42).
func (r *Reconciler) storeSpec(ctx context.Context, p *pass) outcome {
	if reflect.DeepEqual(p.spec, p.stored) {
		return next()
	}
	name := meta.GetExternalName(p.managed)
	err := r.writeMetadata(ctx, p, func(metav1.Object) {})
	meta.SetExternalName(p.managed, name) // one that is not stored yet stays in memory
	if apierrors.IsConflict(err) {
		return outcome{end: conflict}
	}
	if err != nil {
		return fail(ReasonCannotUpdateMR, fmt.Errorf("storing the spec: %w", err))
	}
	return next()
}
