// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// lostName is true for an object without an external name whose status, which authors of objects do not write, shows an external resource:
// kubectl replace with the file of the author removes all annotations, and the finalizer. To create it again takes a permission. A create
// that began since has annotations of its own, and where only these were removed, a person says that nothing was created (N65).
func (r *Reconciler) lostName(p *pass) bool {
	unknown := meta.GetExternalName(p.managed) == "" && !meta.ExternalCreateUnacknowledged(p.managed)
	creates := p.allows(xpv1.ManagementActionCreate) && meta.CheckRecreate(p.managed, r.now()) != nil
	if r.defaultName != nil || !unknown || !creates && !meta.WasDeleted(p.managed) {
		return false
	}
	recorded := p.memory.stored.ownership
	synced := p.wasInSync.Status == corev1.ConditionTrue || p.wasInSync.Reason == xpv1.ReasonDrifted
	began := p.ready.Reason == xpv1.ReasonCreating && !meta.FinalizerExists(p.managed, Finalizer)
	return wasReady(p.ready) || synced || began || len(recorded) > 0
}

// recoverName takes back the external resource of an object that lost its name: the one that the status names, or that the client finds.
// The pass continues without one if the client does not find it for as long as a new one may take to be found.
func (r *Reconciler) recoverName(ctx context.Context, p *pass) outcome {
	recorded := p.memory.stored.ownership
	name, _ := recorded["externalName"].(string)
	known, find := name != "" && reflect.DeepEqual(recorded, OwnershipProof(p.managed, name)), finderOf(p.external)
	if !known {
		if find == nil {
			return stopped(ReasonCannotInitialize, failure.New(failure.ExternalNameLost, p.nameless()))
		}
		var err error
		if name, err = read(ctx, r, verbFind, p, find); err != nil {
			return lookupFailed(err)
		}
	}
	if name == "" {
		if p.memory.nameless.IsZero() {
			p.memory.nameless = r.now()
		}
		if left := r.consistency - r.now().Sub(p.memory.nameless); left > 0 {
			return flow.Await(left, waitsToAppear)
		}
		return flow.Next()
	}
	keys, err := r.unknownKeys(ctx, p, meta.FinalizerExists(p.managed, Finalizer))
	if err != nil {
		return failed(ReasonCannotPublish, err)
	}
	p.memory.oneTimeKeys = keys
	p.memory.proof = r.proofOf(p, p.managed, name)
	return r.recordCreated(ctx, p, name)
}

// nameless is what a person can do about an external resource that cannot be found.
func (p *pass) nameless() string {
	return fmt.Sprintf("the annotation %[1]s is gone, for example by kubectl replace, and nothing is created, since the object has an external "+
		"resource: look for it in the external system, where it may have the label %[2]s=%[3]s, and set the annotation to its name; to "+
		"create another one, set the annotation %[4]s to %[3]q", meta.AnnotationKeyExternalName, meta.ExternalLabelUID, p.managed.GetUID(),
		meta.AnnotationKeyRecreate)
}
