// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
)

type item = workloadv1alpha1.RemoteObject

// same is true for two items of the same object, whatever is known of it.
func same(a, b item) bool {
	a.UID, b.UID, a.APIVersion, b.APIVersion = "", "", groupOf(a.APIVersion), groupOf(b.APIVersion)
	return a == b
}

func groupOf(apiVersion string) string { return schema.FromAPIVersionAndKind(apiVersion, "").Group }

func (p *pass) itemOf(o clusters.Object, copied bool) item {
	return item{Target: p.target.Name, APIVersion: schema.GroupVersion{Group: o.Group, Version: o.Version}.String(), Kind: o.Kind,
		Namespace: o.Namespace, Name: o.Name, Copy: copied}
}

// copyOf is where the copy of a Secret is.
func (p *pass) copyOf(name string) clusters.Object {
	return clusters.Object{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, Kind: "Secret",
		Namespace: p.object.Namespace, Name: name}
}

// wanted are the items of this generation.
func (p *pass) wanted() []item {
	all := []item{p.itemOf(p.object, false)}
	for _, ref := range p.resource.Spec.Secrets {
		all = append(all, p.itemOf(p.copyOf(ref.Name), true))
	}
	return all
}

// known returns the item of the inventory for the same object, the zero item if there is none.
func (p *pass) known(of item) item {
	if i := slices.IndexFunc(p.items(), func(other item) bool { return same(of, other) }); i >= 0 {
		return p.items()[i]
	}
	return item{}
}

// items is the inventory as the pass leaves it.
func (p *pass) items() []item {
	if p.inventory != nil {
		return p.inventory
	}
	return p.resource.Status.Inventory
}

// change changes the inventory that the pass leaves.
func (p *pass) change(how func([]item) []item) { p.inventory = how(slices.Clone(p.items())) }

// record notes the UID and the present version of an object.
func (p *pass) record(of item, live *unstructured.Unstructured) {
	of.UID = live.GetUID()
	if p.known(of) == of {
		return
	}
	p.change(func(all []item) []item {
		for i := range all {
			if same(all[i], of) {
				all[i] = of
			}
		}
		return all
	})
}

// recordIntent stores what is about to be created. A target that is being deleted gets nothing new: its controller looks for resources that
// list it once it is, and this looks at the target once it is listed, so that one of the two notices the other.
func (r *Reconciler) recordIntent(ctx context.Context, p *pass) flow.Outcome {
	var missing []item
	for _, one := range p.wanted() {
		if p.known(one) == (item{}) {
			missing = append(missing, one)
		}
	}
	if !meta.FinalizerExists(p.resource, Finalizer) {
		resource, err := objects.Patch(ctx, r.client, p.resource, func(o *workloadv1alpha1.KubernetesApplicationResource) { meta.AddFinalizer(o, Finalizer) })
		if err != nil {
			return fail("adding the finalizer", err)
		}
		p.resource = resource
	}
	if len(missing) == 0 {
		return flow.Next()
	}
	resource, err := objects.PatchStatus(ctx, r.client, p.resource, func(o *workloadv1alpha1.KubernetesApplicationResource) {
		o.Status.Inventory = append(o.Status.Inventory, missing...)
		o.Status.State = workloadv1alpha1.ResourceScheduled
	})
	if err != nil {
		return fail("storing what is about to be created", err)
	}
	p.resource = resource
	target, err := r.targetOf(ctx, r.live, p.resource.Namespace, p.target.Name)
	switch {
	case err != nil:
		return fail("reading the target", err)
	case target == nil || target.UID != p.target.UID || meta.WasDeleted(target):
		p.change(func(all []item) []item {
			return slices.DeleteFunc(all, func(one item) bool { return slices.Contains(missing, one) })
		})
		return flow.RejectedAs(ReasonTargetUnavailable, &failure.Error{Reason: failure.WaitingForReferences,
			Message: fmt.Sprintf("KubernetesTarget %q is being deleted: nothing new is created through it", p.target.Name)})
	}
	return flow.Next()
}

// prune deletes the objects that this generation no longer declares, once those that it does are there.
func (r *Reconciler) prune(ctx context.Context, p *pass) flow.Outcome {
	wanted := p.wanted()
	o := r.remove(ctx, p, func(one item) bool {
		return !slices.ContainsFunc(wanted, func(w item) bool { return same(w, one) })
	})
	p.pruned = o.End == flow.Continue
	return o
}

// deleteAll deletes all objects of a deleted resource.
func (r *Reconciler) deleteAll(ctx context.Context, p *pass) flow.Outcome {
	return r.remove(ctx, p, func(item) bool { return true })
}

// remove deletes some objects of the inventory and continues once they are gone. An object stays in the inventory as long as it may exist.
func (r *Reconciler) remove(ctx context.Context, p *pass, which func(item) bool) flow.Outcome {
	result := flow.Next()
	for _, one := range slices.Clone(p.items()) {
		if !which(one) {
			continue
		}
		gone, o := r.removeOne(ctx, p, one, func(live types.UID) bool {
			return slices.ContainsFunc(p.items(), func(other item) bool { return other.UID == live && !which(other) })
		})
		if gone {
			p.change(func(all []item) []item {
				return slices.DeleteFunc(all, func(other item) bool { return same(one, other) })
			})
		} else if result.End == flow.Continue || o.End != flow.Wait { // an error says more than a wait
			result = o
		}
	}
	return result
}

// dependentsPoll is how often what has to be deleted later looks whether it is its turn.
const dependentsPoll = time.Second

// removeOne is gone if there is nothing left of an object that is ours, or it stays: since two targets may lead to one cluster.
func (r *Reconciler) removeOne(ctx context.Context, p *pass, one item, stays func(types.UID) bool) (gone bool, o flow.Outcome) {
	if meta.OrphansOnDelete(p.resource) {
		p.Note(ReasonLeft, fmt.Sprintf("Left %s as it is in the cluster of KubernetesTarget %q, since the annotation %s is true.", describe(one),
			one.Target, meta.AnnotationKeyOrphanOnDelete))
		return true, o
	}
	target, err := r.targetOf(ctx, r.client, p.resource.Namespace, one.Target)
	switch {
	case err != nil:
		return false, fail("reading the target", err)
	case target == nil:
		if target, err = r.targetOf(ctx, r.live, p.resource.Namespace, one.Target); err != nil || target != nil {
			return false, flow.Conflicted() // the cache is behind
		}
		return false, flow.RejectedAs(ReasonCannotDelete, &failure.Error{Reason: failure.WaitingForReferences, Message: fmt.Sprintf("%s cannot be deleted: "+
			"KubernetesTarget %q of its cluster does not exist. Create the target again, or, to leave the object as it is, set the annotation %s of this "+
			"resource to \"true\"", describe(one), one.Target, meta.AnnotationKeyOrphanOnDelete)})
	}
	needed, err := r.dependents(ctx, p, one)
	if err != nil {
		return false, fail("reading the other objects of the application", err)
	}
	if len(needed) > 0 {
		return false, flow.AwaitFor(failure.WaitingForDependents, dependentsPoll, fmt.Sprintf("%s is deleted after %d other objects of the application "+
			"that need it, such as %s.", describe(one), len(needed), describe(needed[0])))
	}
	lease, err := r.lease(ctx, p, target)
	if failure.Of(err).Reason == failure.WaitingForReferences {
		if last := r.clusters.Last(client.ObjectKeyFromObject(target)); last != nil {
			p.leases[target.Name], lease, err = last, last, nil
		}
	}
	if err == nil {
		gone, err = r.deleteFrom(ctx, p, lease, one, stays)
	}
	switch {
	case gone && err == nil:
		return true, o
	case err == nil:
		return false, flow.AwaitAs(ReasonProgressing, "%s is being deleted in the cluster of KubernetesTarget %q.", describe(one), one.Target)
	case failure.IsSystemOutOfReach(failure.Of(err).Reason) && isClusterLost(target):
		p.Note(ReasonLeft, fmt.Sprintf("%s is gone with its cluster: the managed resource of KubernetesTarget %q was deleted.", describe(one), one.Target))
		return true, o
	}
	class := failure.Of(err)
	message := fmt.Sprintf("%s cannot be deleted: %s. To leave it as it is, set the annotation %s of this resource to \"true\"", describe(one),
		class.Message, meta.AnnotationKeyOrphanOnDelete)
	err = failure.ForTeam(class.Reason, message, err)
	if failure.IsTerminal(err) || class.Reason == failure.WaitingForReferences {
		return false, flow.RejectedAs(ReasonCannotDelete, err)
	}
	return false, flow.Failed(event.Reason(ReasonCannotDelete), err)
}

// isClusterLost is true for a target whose managed resource does not exist any more.
func isClusterLost(target *workloadv1alpha1.KubernetesTarget) bool {
	return target.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonResourceLost || xpv1.FailureOf(target).Reason == failure.ExternalResourceLost
}

func describe(one item) string {
	return clusters.Object{GroupVersionResource: schema.GroupVersionResource{Group: groupOf(one.APIVersion)}, Kind: one.Kind,
		Namespace: one.Namespace, Name: one.Name}.String()
}

// deleteFrom deletes an object that is ours. It is gone if it does not exist, belongs to somebody else, or stays.
func (r *Reconciler) deleteFrom(ctx context.Context, p *pass, cluster *clusters.Lease, one item, stays func(types.UID) bool) (gone bool, err error) {
	kind := schema.FromAPIVersionAndKind(one.APIVersion, one.Kind)
	o, err := cluster.Find(kind, one.Namespace, one.Name)
	if apimeta.IsNoMatchError(err) { // the version may have ended
		o, err = cluster.Find(kind.GroupKind().WithVersion(""), one.Namespace, one.Name)
	}
	if apimeta.IsNoMatchError(err) { // all objects of the kind are gone with its definition
		served, err := cluster.Serves(kind)
		return !served && err == nil, err
	}
	if err != nil {
		return false, err
	}
	o.Namespace = one.Namespace
	live, err := observed(ctx, cluster, o)
	switch {
	case err != nil:
		return false, err
	case live == nil, !p.isOurs(one, live), stays(live.GetUID()):
		return true, nil
	}
	if declared, err := r.isDeclaredByOthers(ctx, p, cluster, one); declared || err != nil {
		return declared, err
	}
	p.subscribe(cluster, o)
	if live.GetDeletionTimestamp() != nil {
		return false, nil
	}
	return false, cluster.Delete(ctx, o, live.GetUID())
}

// isDeclaredByOthers is true for an object that another resource of the application declares, which takes it over, and for a copy that another
// resource declares and has. Of several that cease to declare a copy, the last one sees in the cache that the others did, since one watch
// delivers these changes in their order.
func (r *Reconciler) isDeclaredByOthers(ctx context.Context, p *pass, cluster *clusters.Lease, one item) (bool, error) {
	value, owner := indexSecret+one.Name, metav1.GetControllerOf(p.resource)
	switch {
	case one.Copy:
	case owner == nil:
		return false, nil
	default:
		value = indexApplication + string(owner.UID)
	}
	others, err := r.indexed(ctx, p.resource.Namespace, value)
	return slices.ContainsFunc(others, func(other *workloadv1alpha1.KubernetesApplicationResource) bool {
		has := slices.ContainsFunc(other.Status.Inventory, func(its item) bool { return same(its, one) })
		return other.UID != p.resource.UID && declares(other, one, cluster) && (has || !one.Copy)
	}), err
}

// declares is true for a resource that is to have an object, or a copy, in a cluster.
func declares(resource *workloadv1alpha1.KubernetesApplicationResource, one item, in *clusters.Lease) bool {
	ref := resource.Spec.TargetReference
	o, err := read(resource)
	if meta.WasDeleted(resource) || ref == nil || ref.Name != one.Target || err != nil {
		return false
	}
	inside := one.Namespace == "" || cmp.Or(o.GetNamespace(), in.Namespace) == one.Namespace
	if one.Copy {
		return inside && slices.Contains(resource.Spec.Secrets, workloadv1alpha1.SecretReference{Name: one.Name})
	}
	return inside && o.GetName() == one.Name && o.GroupVersionKind().GroupKind() == schema.FromAPIVersionAndKind(one.APIVersion, one.Kind).GroupKind()
}

// isOurs is true for an object that carries our mark, or that is known from before and carries that of nobody else. A mark counts more than
// a UID: an object that was created again may not be recorded.
func (p *pass) isOurs(one item, live *unstructured.Unstructured) bool {
	if mark := live.GetLabels()[clusters.LabelKeyWorkload]; mark != "" {
		return one.Copy && mark == p.copyMark || !one.Copy && mark == string(p.resource.UID)
	}
	return one.UID != "" && one.UID == live.GetUID()
}

// readMark finds out the mark of copies: that of the namespace, which another control plane, or a later namespace of the name, does not have.
func (r *Reconciler) readMark(ctx context.Context, p *pass) flow.Outcome {
	copies := func(one item) bool { return one.Copy }
	if len(p.resource.Spec.Secrets) == 0 && !slices.ContainsFunc(p.items(), copies) {
		return flow.Next()
	}
	if p.copyMark = p.memory.copyMark; p.copyMark != "" {
		return flow.Next()
	}
	namespace := objects.Metadata(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := r.live.Get(ctx, client.ObjectKey{Name: p.resource.Namespace}, namespace); err != nil {
		return fail("reading the namespace", err)
	}
	p.copyMark = clusters.LabelPrefixCopy + string(namespace.UID)
	p.memory.copyMark = p.copyMark
	return flow.Next()
}

// awaitFinalizers waits until ours is the last finalizer.
func (r *Reconciler) awaitFinalizers(_ context.Context, p *pass) flow.Outcome {
	return flow.AwaitFinalizers(p.resource, Finalizer)
}

// removeFinalizer lets the deletion of the resource finish.
func (r *Reconciler) removeFinalizer(ctx context.Context, p *pass) flow.Outcome {
	p.pruned, p.objects = true, nil
	_, err := objects.Patch(ctx, r.client, p.resource, func(o *workloadv1alpha1.KubernetesApplicationResource) { meta.RemoveFinalizer(o, Finalizer) })
	if client.IgnoreNotFound(err) != nil {
		return fail("removing the finalizer", err)
	}
	return flow.Vanished()
}
