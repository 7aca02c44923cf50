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
	if ref == nil { // as after kubectl replace with the file of the author: it stays where it is
		ref = p.present()
	}
	present := ref != nil && slices.ContainsFunc(targets.Items, func(t workloadv1alpha1.KubernetesTarget) bool { return t.Name == ref.Name && !meta.WasDeleted(&t) })
	switch {
	case present && p.app.Spec.TargetReference != nil && meta.FinalizerExists(p.app, Finalizer):
		return flow.Next()
	case present:
		return r.store(ctx, p, ref.Name)
	case p.app.Spec.TargetReference != nil && selector == nil:
		return flow.RejectedAs(ReasonNoMatchingTarget, &failure.Error{Reason: failure.WaitingForReferences, Message: fmt.Sprintf("KubernetesTarget %q of "+
			"spec.targetRef does not exist, or is being deleted: create it, name another one, or set spec.targetSelector", ref.Name)})
	}
	if ref != nil { // before it is left for ever
		target := &workloadv1alpha1.KubernetesTarget{}
		err := r.live.Get(ctx, client.ObjectKey{Namespace: p.app.Namespace, Name: ref.Name}, target)
		if client.IgnoreNotFound(err) != nil {
			return fail("reading the target", err)
		}
		if err == nil && !meta.WasDeleted(target) {
			return flow.Conflicted() // the cache is behind
		}
	}
	chosen, why := choose(targets.Items, p.app, r.usable(ctx))
	if chosen == "" {
		return flow.RejectedAs(ReasonNoMatchingTarget, &failure.Error{Reason: failure.WaitingForReferences, Message: why})
	}
	o := r.store(ctx, p, chosen)
	if o.End == flow.Continue {
		p.Note(ReasonScheduled, fmt.Sprintf("Scheduled to KubernetesTarget %q.", chosen))
	}
	return o
}

// present returns the target of the resources that the application has, nil if it has none.
func (p *pass) present() *workloadv1alpha1.KubernetesTargetReference {
	for _, resource := range p.resources {
		if ref := resource.Spec.TargetReference; ref != nil {
			return ref
		}
	}
	return nil
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
func choose(targets []workloadv1alpha1.KubernetesTarget, app *workloadv1alpha1.KubernetesApplication, usable func(*workloadv1alpha1.KubernetesTarget) bool) (chosen, why string) {
	selector, err := metav1.LabelSelectorAsSelector(cmp.Or(app.Spec.TargetSelector, &metav1.LabelSelector{}))
	if err != nil {
		return "", "spec.targetSelector is invalid: " + objects.Shorten(err.Error(), 256)
	}
	var best uint64
	matching, deleted := 0, 0
	for _, t := range targets {
		if !selector.Matches(labels.Set(t.Labels)) || !usable(&t) {
			continue
		}
		if meta.WasDeleted(&t) {
			deleted++
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
	case deleted > 0:
		return "", fmt.Sprintf("all %d KubernetesTargets that match are being deleted, which waits until this application has moved: create another target, or "+
			"delete the application", deleted)
	case len(targets) == 0:
		return "", "there is no KubernetesTarget in this namespace: create one that names your cluster"
	default:
		return "", fmt.Sprintf("no KubernetesTarget of this namespace has the labels that spec.targetSelector asks for (%s): see kubectl get kubernetestargets --show-labels", asked)
	}
}

// usable is false for targets of other things than clusters, as far as that is known.
func (r *Reconciler) usable(ctx context.Context) func(*workloadv1alpha1.KubernetesTarget) bool {
	return func(t *workloadv1alpha1.KubernetesTarget) bool {
		ref := t.Spec.WriteConnectionSecretToReference
		if ref == nil || t.GetCondition(xpv1.TypeReady).Status != corev1.ConditionTrue {
			return true
		}
		secret, err := r.secrets.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: ref.Name})
		return err != nil || len(secret.Data[xpv1.ResourceCredentialsSecretKubeconfigKey]) > 0
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
