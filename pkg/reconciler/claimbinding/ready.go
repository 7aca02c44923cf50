// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// awaitBindable waits until the managed resource can be used (R269). One that was bound or released before could be used then,
// and find has seen that it belongs to no other claim.
func (r *Reconciler) awaitBindable(_ context.Context, p *pass) flow.Outcome {
	switch p.managed.GetBindingPhase() {
	case xpv1.BindingPhaseUnbound, xpv1.BindingPhaseBound, xpv1.BindingPhaseReleased:
		return flow.Next()
	}
	return await(xpv1.ReasonBinding, r.whyNotReady(p.managed))
}

// checkReady has the claim show whether its managed resource can be used (R282).
func (r *Reconciler) checkReady(_ context.Context, p *pass) flow.Outcome {
	if p.managed.GetCondition(xpv1.TypeReady).Status == corev1.ConditionFalse {
		return await(xpv1.ReasonUnavailable, r.whyNotReady(p.managed))
	}
	return flow.Next()
}

// whyNotReady tells the team why a managed resource cannot be used, from reasons and messages that are for teams (N41).
func (r *Reconciler) whyNotReady(mg resource.BindableManaged) string {
	what := fmt.Sprintf("Managed resource %s %q", r.managedKind.Kind, mg.GetName())
	ready, synced, failed := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced), xpv1.FailureOf(mg)
	switch {
	case synced.Reason == xpv1.ReasonReconcilePaused:
		return what + " is paused. Ask your platform team to resume it."
	case failed.Reason == failure.ExternalNameTaken && meta.IsExternalNameProposed(mg):
		return fmt.Sprintf("%s is not created: the external name %q, which the claim proposes, is taken. Delete the claim and create it "+
			"again with another name in its annotation %s, or without one.", what, meta.GetExternalName(mg), meta.AnnotationKeyExternalName)
	case failed.Message != "":
		return fmt.Sprintf("%s is not ready (%s): %s", what, failed.Reason, failed.Message)
	case failed.Reason != "", synced.Status == corev1.ConditionFalse:
		return what + " is not ready. Ask your platform team, who sees the cause in its conditions."
	case ready.Status == corev1.ConditionFalse:
		return fmt.Sprintf("%s is not ready yet (%s). Wait until it is.", what, ready.Reason)
	default:
		return what + " is not ready yet. Wait until it is."
	}
}
