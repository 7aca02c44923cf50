// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// ownerOf is the owner of fields in the cluster. Each resource has its own, so that two which declare the same object are in conflict instead
// of taking turns.
func ownerOf(resource types.UID) string { return "bowline/" + string(resource) }

// look returns an object from its watch, or from the API server where that does not have it: the mark may be lost.
func look(ctx context.Context, cluster *clusters.Lease, o clusters.Object) (*unstructured.Unstructured, error) {
	if live, known := cluster.Look(o); known && live != nil {
		return live, nil
	}
	return cluster.Get(ctx, o)
}

// observe reads the object in the cluster.
func (r *Reconciler) observe(ctx context.Context, p *pass) flow.Outcome {
	live, err := look(ctx, p.cluster, p.object)
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
		return flow.AwaitAs(ReasonProgressing, "%s is being deleted in the cluster, and is created again then.", p.object)
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
func (r *Reconciler) own(_ context.Context, p *pass) flow.Outcome {
	known := p.known(p.itemOf(p.object, false))
	if p.live == nil {
		permitted := p.resource.GetAnnotations()[meta.AnnotationKeyRecreate] == string(known.UID)
		if known.UID == "" || permitted || !holdsData(p.desired.GroupVersionKind().GroupKind()) {
			return flow.Next()
		}
		return flow.Refuse(failure.ExternalResourceLost, "%s was deleted in the cluster with all that it held. To create an empty one, set the "+
			"annotation %s of this resource to %s", p.object, meta.AnnotationKeyRecreate, known.UID)
	}
	if p.isOurs(known, p.live) || p.takesOver() {
		return flow.Next()
	}
	whose := "was not created by Bowline"
	if of := p.live.GetAnnotations()[AnnotationKeyResource]; of != "" {
		whose = "belongs to KubernetesApplicationResource " + of
	}
	return flow.Refuse(failure.ExternalNameTaken, "%s exists in the cluster and %s: choose another name, or, to take it over, set the annotation %s "+
		"of this resource to %s", p.object, whose, meta.AnnotationKeyTakeOverFrom, p.live.GetUID())
}

// takesOver is true if a person permits to take over the object in the cluster.
func (p *pass) takesOver() bool {
	return p.resource.GetAnnotations()[meta.AnnotationKeyTakeOverFrom] == string(p.live.GetUID())
}

// holdsData is true for kinds whose deletion deletes what others stored.
func holdsData(kind schema.GroupKind) bool {
	switch kind {
	case schema.GroupKind{Kind: "Namespace"}, schema.GroupKind{Kind: "PersistentVolumeClaim"}, schema.GroupKind{Kind: "PersistentVolume"},
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		return true
	}
	return false
}

// apply creates the object, or changes it back to what is declared.
func (r *Reconciler) apply(ctx context.Context, p *pass) flow.Outcome {
	drifted := p.live != nil && p.resource.Status.AppliedGeneration == p.resource.Generation
	if drifted && p.isAsDeclared() {
		p.remember(p.live)
		p.saw(p.itemOf(p.object, false), p.live)
		p.applied = true
		return flow.Next()
	}
	if wait := p.memory.patience(); drifted && wait > 0 {
		o := flow.AwaitAs(ReasonContended, "%s is changed in the cluster again and again: find out who changes it, or leave the fields out of the "+
			"template.", p.object)
		o.After = wait
		return o
	}
	desired := p.desired.DeepCopy()
	if p.live != nil {
		desired.SetUID(p.live.GetUID()) // refused if it is another one meanwhile
	}
	live, created, err := p.cluster.Apply(ctx, p.object, desired, clusters.ApplyOptions{Owner: ownerOf(p.resource.UID), Force: p.live != nil})
	switch {
	case err != nil:
		return r.failRemote(p, err)
	case p.live == nil && !created: // somebody else created it a moment ago
		if err := r.disown(ctx, p); err != nil {
			return r.failRemote(p, err)
		}
		return flow.Conflicted()
	}
	if drifted && live.GetResourceVersion() != p.live.GetResourceVersion() {
		p.memory.reverts, p.memory.reverted = p.memory.reverts+1, time.Now()
		p.Note(ReasonReverted, fmt.Sprintf("Changed %s back in the cluster to what is declared.", p.object))
	}
	p.live, p.memory.last = live, live
	p.remember(live)
	p.saw(p.itemOf(p.object, false), live)
	p.applied = true
	return flow.Next()
}

// disown gives up the fields of an object that somebody else created.
func (r *Reconciler) disown(ctx context.Context, p *pass) error {
	nothing := &unstructured.Unstructured{}
	nothing.SetGroupVersionKind(p.desired.GroupVersionKind())
	nothing.SetNamespace(p.desired.GetNamespace())
	nothing.SetName(p.desired.GetName())
	_, _, err := p.cluster.Apply(ctx, p.object, nothing, clusters.ApplyOptions{Owner: ownerOf(p.resource.UID)})
	return err
}

// isAsDeclared is true if the object is in the state in which it was last found to be as declared. A new process compares it with
// what is declared: a difference in form, such as 1000m for 1, costs one request.
func (p *pass) isAsDeclared() bool {
	if p.memory.of == p.resource.Generation {
		return p.memory.fingerprint == clusters.Fingerprint(p.live)
	}
	return clusters.Covers(p.live, p.desired)
}

func (p *pass) remember(live *unstructured.Unstructured) {
	p.memory.fingerprint, p.memory.of = clusters.Fingerprint(live), p.resource.Generation
}

// Changes by others are changed back at once, and later the more often that happens.
const (
	calmAfter    = 10 * time.Minute // without a change by others
	mostPatience = time.Minute
)

// patience is how long to wait before the object is changed back again.
func (m *memory) patience() time.Duration {
	since := time.Since(m.reverted)
	if since > calmAfter {
		m.reverts = 0
	}
	if m.reverts < 3 { // such as three people, or a tool that sets several fields
		return 0
	}
	return min(time.Second<<min(m.reverts-3, 6), mostPatience) - since
}

// checkReady waits until the object works, by the conventions of kstatus.
func (r *Reconciler) checkReady(_ context.Context, p *pass) flow.Outcome {
	if p.cluster.Blind(p.object) {
		return flow.Refuse(ReasonBlind, "changes of %s in the cluster are not seen: the credentials of KubernetesTarget %q do not permit to list and "+
			"watch its kind in its namespace", p.object, p.target.Name)
	}
	result, err := status.Compute(p.live)
	switch {
	case err != nil:
		return flow.Refuse(ReasonObjectFailed, "the state of %s in the cluster cannot be determined: its status has an unusual form", p.object)
	case result.Status == status.CurrentStatus:
		return flow.Next()
	case result.Status == status.FailedStatus:
		return flow.Refuse(ReasonObjectFailed, "%s failed in the cluster: %s", p.object, result.Message)
	default:
		return flow.AwaitAs(ReasonProgressing, "%s is not ready in the cluster yet: %s", p.object, result.Message)
	}
}
