// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// ownerOf is the owner of fields in the cluster. Each resource has its own, so that two which declare the same object are in conflict instead
// of taking turns.
func ownerOf(resource types.UID) string { return "bowline/" + string(resource) }

// observed returns an object from its watch, or from the API server where that does not have it: the mark may be lost.
func observed(ctx context.Context, cluster *clusters.Lease, o clusters.Object) (*unstructured.Unstructured, error) {
	if live, known := cluster.Observed(o); known && live != nil {
		return live, nil
	}
	return cluster.Get(ctx, o)
}

// observe reads the object in the cluster.
func (r *Reconciler) observe(ctx context.Context, p *pass) flow.Outcome {
	live, err := observed(ctx, p.cluster, p.object)
	if err != nil {
		return r.failRemote(p, err)
	}
	if last := p.memory.last; last != nil && live != nil && live.GetUID() == last.GetUID() && isOlder(live, last) {
		live = last
	} else {
		p.memory.last = nil
	}
	p.live, p.observed = live, true
	if live != nil && live.GetDeletionTimestamp() != nil {
		return flow.AwaitAs(ReasonProgressing, "%s is being deleted in the cluster.", p.object)
	}
	return flow.Next()
}

// isOlder compares two states of objects of one kind.
func isOlder(a, b *unstructured.Unstructured) bool {
	of, than := version(a), version(b)
	return of < than
}

func version(o *unstructured.Unstructured) uint64 {
	n, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// own refuses an object that somebody else created, and one that is to replace lost data.
func (r *Reconciler) own(ctx context.Context, p *pass) flow.Outcome {
	known := p.known(p.itemOf(p.object, false))
	if p.live == nil {
		permitted := p.resource.GetAnnotations()[meta.AnnotationKeyRecreate] == string(known.UID)
		if known.UID == "" || permitted || !holdsData(p.desired.GroupVersionKind().GroupKind()) {
			return flow.Next()
		}
		return flow.Refuse(failure.ExternalResourceLost, "%s was deleted in the cluster with all that it held. To create an empty one, set the "+
			"annotation %s of this resource to %s", p.object, meta.AnnotationKeyRecreate, known.UID)
	}
	inherits, err := r.inherits(ctx, p)
	switch {
	case err != nil:
		return fail("reading the other objects of the application", err)
	case p.isOurs(known, p.live), p.takesOver(), inherits:
		return flow.Next()
	}
	whose := "was not created by Bowline"
	switch of := p.live.GetAnnotations()[AnnotationKeyResource]; of {
	case "":
	case p.resource.Namespace + "/" + p.resource.Name:
		whose = "belongs to an earlier KubernetesApplicationResource of this name"
	default:
		whose = "belongs to KubernetesApplicationResource " + of
	}
	return flow.Refuse(failure.ExternalNameTaken, "%s exists in the cluster and %s: choose another name, or, to take it over, set the annotation %s "+
		"of this resource to %s", p.object, whose, meta.AnnotationKeyTakeOverFrom, p.live.GetUID())
}

// inherits is true for an object of the same application whose resource no longer declares it, or is about to be gone.
func (r *Reconciler) inherits(ctx context.Context, p *pass) (bool, error) {
	owner := metav1.GetControllerOf(p.resource)
	if owner == nil || p.live.GetAnnotations()[AnnotationKeyApplication] != string(owner.UID) {
		return false, nil
	}
	others, err := r.indexed(ctx, p.resource.Namespace, indexApplication+string(owner.UID))
	mark := p.live.GetLabels()[clusters.LabelKeyWorkload]
	return err == nil && !slices.ContainsFunc(others, func(other *workloadv1alpha1.KubernetesApplicationResource) bool {
		return string(other.UID) == mark && declares(other, p.itemOf(p.object, false), p.cluster)
	}), err
}

// takesOver is true if a person permits to take over the object in the cluster.
func (p *pass) takesOver() bool {
	return p.resource.GetAnnotations()[meta.AnnotationKeyTakeOverFrom] == string(p.live.GetUID())
}

// holdsData is true for kinds whose deletion deletes what others stored.
func holdsData(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "PersistentVolume"}, definitions:
		return true
	}
	return false
}

// apply creates the object, or changes it back to what is declared.
func (r *Reconciler) apply(ctx context.Context, p *pass) flow.Outcome {
	was := p.resource.Status.AppliedGeneration == p.resource.Generation
	if was && p.live != nil && p.isAsDeclared() {
		p.settleAs(p.live)
		return flow.Next()
	}
	if wait := p.memory.patience(); was && wait > 0 {
		o := flow.AwaitAs(ReasonContended, "%s is changed or deleted in the cluster again and again: find out by whom, or leave what they change out of "+
			"the template.", p.object)
		o.After = wait
		return o
	}
	live, o := r.write(ctx, p)
	if o.End != flow.Continue {
		return o
	}
	if was && (p.live == nil || clusters.Fingerprint(p.live) != clusters.Fingerprint(live)) {
		p.memory.reverts, p.memory.reverted = p.memory.reverts+1, time.Now()
		p.Note(ReasonReverted, fmt.Sprintf("Changed %s back in the cluster to what is declared.", p.object))
	}
	p.live, p.memory.last = live, live
	p.settleAs(live)
	return flow.Next()
}

// write creates the object, never over one that somebody else creates, or applies it to the one that was observed.
func (r *Reconciler) write(ctx context.Context, p *pass) (live *unstructured.Unstructured, o flow.Outcome) {
	desired, owner, taken, err := p.desired.DeepCopy(), ownerOf(p.resource.UID), false, error(nil)
	if p.live == nil {
		live, taken, err = p.cluster.Create(ctx, p.object, desired, owner)
	} else {
		desired.SetUID(p.live.GetUID()) // refused if it is another one meanwhile
		live, err = p.cluster.Apply(ctx, p.object, desired, clusters.ApplyOptions{Owner: owner, Force: true})
	}
	switch {
	case err != nil:
		return nil, r.failRemote(p, err)
	case taken:
		return nil, flow.Conflicted()
	}
	return live, flow.Next()
}

// settleAs notes that an object is as declared.
func (p *pass) settleAs(live *unstructured.Unstructured) {
	p.memory.fingerprint, p.memory.of = clusters.Fingerprint(live), p.resource.Generation
	p.record(p.itemOf(p.object, false), live)
	p.applied = true
}

// isAsDeclared is true if the object is in the state in which it was last found to be as declared. A new process compares it with
// what is declared: a difference in form, such as 1000m for 1, costs one request.
func (p *pass) isAsDeclared() bool {
	if p.memory.of == p.resource.Generation {
		return p.memory.fingerprint == clusters.Fingerprint(p.live)
	}
	return clusters.Covers(p.live, p.desired)
}

// Changes by others are changed back at once, and later the more often that happens.
const (
	revertsForgottenAfter = 10 * time.Minute // without a change by others
	maxRevertDelay        = time.Minute
)

// patience is how long to wait before the object is changed back again.
func (m *memory) patience() time.Duration {
	since := time.Since(m.reverted)
	if since > revertsForgottenAfter {
		m.reverts = 0
	}
	if m.reverts < 3 { // such as three people, or a tool that sets several fields
		return 0
	}
	return min(time.Second<<min(m.reverts-3, 6), maxRevertDelay) - since
}

// checkReady waits until the object works, by the conventions of kstatus.
func (r *Reconciler) checkReady(_ context.Context, p *pass) flow.Outcome {
	if err := r.clusters.Check(client.ObjectKeyFromObject(p.target)); err != nil {
		return flow.RejectedAs(ReasonTargetUnavailable, err)
	}
	if p.cluster.WatchRefused(p.object) {
		return flow.Refuse(ReasonCannotWatch, "changes of %s in the cluster are not noticed: the credentials of KubernetesTarget %q do not permit to list and "+
			"watch its kind in its namespace", p.object, p.target.Name)
	}
	result, err := status.Compute(p.live)
	if err == nil {
		result.Message = objects.Shorten(result.Message, 512)
	}
	switch {
	case err != nil:
		return flow.Refuse(ReasonObjectFailed, "the state of %s in the cluster cannot be determined: its status has an unusual form", p.object)
	case result.Status == status.CurrentStatus:
		p.current = true
		return flow.Next()
	case result.Status == status.FailedStatus:
		return flow.Refuse(ReasonObjectFailed, "%s failed in the cluster: %s", p.object, result.Message)
	default:
		return flow.AwaitAs(ReasonProgressing, "%s is not ready in the cluster yet: %s", p.object, result.Message)
	}
}
