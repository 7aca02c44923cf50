// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package application

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// schedule chooses a target for an application that has none, and another one only if that is gone or about to be. The choice and the
// finalizer are one write, before there are any resources. An application whose target was not chosen here keeps it.
func (r *Reconciler) schedule(ctx context.Context, p *pass) flow.Outcome {
	targets := &workloadv1alpha1.KubernetesTargetList{}
	if err := r.client.List(ctx, targets, client.InNamespace(p.app.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fail("reading the targets", err)
	}
	ref, selector := p.app.Spec.TargetReference, p.app.Spec.TargetSelector
	present := ref != nil && slices.ContainsFunc(targets.Items, func(t workloadv1alpha1.KubernetesTarget) bool { return t.Name == ref.Name && !meta.WasDeleted(&t) })
	switch {
	case present && meta.FinalizerExists(p.app, Finalizer):
		return flow.Next()
	case present:
		return r.store(ctx, p, ref.Name)
	case ref != nil && selector == nil:
		return flow.RejectedAs(ReasonNoMatchingTarget, &failure.Error{Reason: failure.WaitingForReferences, Message: fmt.Sprintf("KubernetesTarget %q of "+
			"spec.targetRef does not exist, or is being deleted: create it, name another one, or set spec.targetSelector", ref.Name)})
	}
	chosen, why := choose(targets.Items, p.app)
	if chosen == "" {
		return flow.RejectedAs(ReasonNoMatchingTarget, &failure.Error{Reason: failure.WaitingForReferences, Message: why})
	}
	o := r.store(ctx, p, chosen)
	if o.End == flow.Continue {
		p.Note(ReasonScheduled, fmt.Sprintf("Scheduled to KubernetesTarget %q.", chosen))
	}
	return o
}

// store records the target. A selector is recorded with it, so that a target which was chosen here can be told from one that a person named.
func (r *Reconciler) store(ctx context.Context, p *pass, target string) flow.Outcome {
	app, err := objects.Patch(ctx, r.client, p.app, func(app *workloadv1alpha1.KubernetesApplication) {
		meta.AddFinalizer(app, Finalizer)
		if app.Spec.TargetReference == nil && app.Spec.TargetSelector == nil {
			app.Spec.TargetSelector = &metav1.LabelSelector{}
		}
		app.Spec.TargetReference = &workloadv1alpha1.KubernetesTargetReference{Name: target}
	})
	if err != nil {
		return fail("recording the target", err)
	}
	p.app = app
	return flow.Next()
}

// choose returns the name of the target for an application: of those that are ready and have the labels, the one with the highest hash of both
// names. So applications spread evenly, the same ones always get the same choice, and another target moves none. Without one it returns why.
func choose(targets []workloadv1alpha1.KubernetesTarget, app *workloadv1alpha1.KubernetesApplication) (chosen, why string) {
	selector, err := metav1.LabelSelectorAsSelector(cmp.Or(app.Spec.TargetSelector, &metav1.LabelSelector{}))
	if err != nil {
		return "", "spec.targetSelector is invalid: " + objects.Shorten(err.Error(), 256)
	}
	var best uint64
	matching := 0
	for _, t := range targets {
		if meta.WasDeleted(&t) || !selector.Matches(labels.Set(t.Labels)) {
			continue
		}
		matching++
		if score := score(app, t.Name); t.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue && (chosen == "" || score > best) {
			chosen, best = t.Name, score
		}
	}
	asked := objects.Shorten(selector.String(), 256)
	switch {
	case chosen != "":
		return chosen, ""
	case matching > 0:
		return "", fmt.Sprintf("none of the %d KubernetesTargets that match is ready yet: see their condition Ready", matching)
	case len(targets) == 0:
		return "", "there is no KubernetesTarget in this namespace: create one that names your cluster"
	default:
		return "", fmt.Sprintf("no KubernetesTarget of this namespace has the labels that spec.targetSelector asks for (%s): see kubectl get kubernetestargets --show-labels", asked)
	}
}

func score(app *workloadv1alpha1.KubernetesApplication, target string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s/%s", app.Namespace, app.Name, target)
	n := h.Sum64() // of names that differ in the last letter only, FNV has similar high bits
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	return n ^ n>>33
}
