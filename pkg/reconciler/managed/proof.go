// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// ownership is the field of the status that proves which external resource is the object's own, where no label can: authors of
// objects write annotations, but no statuses (N54).
const ownership = "ownership"

// OwnershipProof is what status.ownership of an object has to be to prove that it created, or adopted, the external resource of a name through its
// ProviderConfig (N54): a proof for others proves nothing.
func OwnershipProof(mg resource.Managed, name string) map[string]any {
	config := tree{"kind": resource.ProviderConfigKind(mg), "name": resource.ProviderConfigName(mg)}
	return tree{"externalName": name, "providerConfigRef": config}
}

// ownershipNow is that field for the external name of the object.
func (p *pass) ownershipNow() tree { return OwnershipProof(p.managed, meta.GetExternalName(p.managed)) }

// isProven is true if the status proves that the external resource is the object's own.
func (p *pass) isProven() bool {
	if recorded := p.memory.stored.ownership; recorded != nil {
		return meta.GetExternalName(p.managed) != "" && reflect.DeepEqual(recorded, p.ownershipNow())
	}
	return p.wasOwn
}

// showsOwnership is true for an object without the field, of an earlier version, whose conditions show that a pass found the external
// resource to be its own. They count for the present generation only: an object that observed need not own, and its reference to the
// ProviderConfig may have changed. A deletion begins a generation, too.
func showsOwnership(mg resource.Managed) bool {
	generation := mg.GetGeneration()
	if meta.WasDeleted(mg) {
		generation--
	}
	found := []xpv1.Condition{mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeInSync)}
	return slices.ContainsFunc(found, func(c xpv1.Condition) bool {
		return (c.Status == corev1.ConditionTrue || c.Reason == xpv1.ReasonDrifted) && c.ObservedGeneration >= generation
	})
}

// mustProve is true if the proof has to be stored before the annotations. Where an object may adopt what exists these suffice, and
// recordOwnership stores the proof without a request of its own.
func (r *Reconciler) mustProve(p *pass, proof tree) bool {
	return !r.labels && !p.planning && p.checkAdoption() != nil && !reflect.DeepEqual(p.memory.stored.ownership, proof)
}

// proveOwnership stores, right before Create, that the object creates its external resource, if its name is known.
func (r *Reconciler) proveOwnership(ctx context.Context, p *pass) outcome {
	now := p.ownershipNow()
	if r.defaultName == nil || !r.mustProve(p, now) {
		return flow.Next()
	}
	err := r.storeField(ctx, p, p.managed.GetResourceVersion(), ownership, now)
	if err != nil { // Create was not called
		p.memory.uncreated = meta.GetExternalCreatePending(p.managed)
	}
	if errors.Is(err, errPruned) {
		return rejected(ReasonCannotUpdateMR, failure.With(failure.StatusRefused, err))
	}
	return written("storing that the external resource will be its own", err)
}

var errPruned = errors.New("the CRD of this kind lacks status." + ownership + ", which proves that external resources are the object's own: install " +
	"the CRD that belongs to the provider")

// proofOf is the proof to store for what Create created, or a client found that was created, if the external system chose the name; nil
// if none is needed. What the connection Secret says is no proof: its authors may be those of the object.
func (r *Reconciler) proofOf(p *pass, mg resource.Managed, name string) tree {
	if proof := OwnershipProof(mg, name); r.mustProve(p, proof) {
		return proof
	}
	return nil
}

// proveCreated stores the proof of a creation that this process remembers.
func (r *Reconciler) proveCreated(ctx context.Context, p *pass, name string) error {
	if p.memory.proof["externalName"] != name {
		return nil
	}
	err := r.persistOwnership(ctx, p, maps.Clone(p.memory.proof))
	if err == nil {
		p.memory.proof = nil
	}
	return err
}

// voidOwnership ends the proof of a creation that created nothing: what appears later is not the object's own.
func (r *Reconciler) voidOwnership(ctx context.Context, p *pass) error {
	if len(p.memory.stored.ownership) == 0 {
		return nil
	}
	return client.IgnoreNotFound(r.persistOwnership(ctx, p, tree{"externalName": nil, "providerConfigRef": nil}))
}

// persistOwnership stores the field patiently: an edit of the object at the right moment must not prevent that.
func (r *Reconciler) persistOwnership(ctx context.Context, p *pass, value tree) error {
	ctx, cancel := detach(ctx)
	defer cancel()
	version := p.managed.GetResourceVersion()
	return retry.OnError(persistence, isRetriable, func() error {
		err := r.storeField(ctx, p, version, ownership, value)
		if apierrors.IsConflict(err) {
			version, p.overtaken = "", true
		}
		return err
	})
}

// storeField stores a field of the status and nothing else, if the object has the given resource version; empty for any.
func (r *Reconciler) storeField(ctx context.Context, p *pass, version, field string, value tree) error {
	guard := tree{"uid": p.managed.GetUID()} // not that of another object of the same name
	if version != "" {
		guard["resourceVersion"] = version
	}
	patch, err := json.Marshal(tree{"metadata": guard, "status": tree{field: value}})
	if err != nil {
		return err
	}
	stored := r.newManaged()
	stored.SetNamespace(p.managed.GetNamespace())
	stored.SetName(p.managed.GetName())
	if err := r.client.Status().Patch(ctx, stored, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return err
	}
	if version != "" {
		p.managed.SetResourceVersion(stored.GetResourceVersion())
	}
	maps.DeleteFunc(value, func(_ string, part any) bool { return part == nil })
	kept, err := treeOf(stored)
	if err != nil {
		return err
	}
	if len(value) > 0 && !reflect.DeepEqual(section(kept["status"], field), value) {
		return errPruned
	}
	status := maps.Clone(section(p.found.tree(), "status"))
	if status == nil {
		status = tree{}
	}
	status[field] = value
	p.found, p.memory.stored = &reading{built: tree{"status": status}}, fieldsOf(status, "")
	return p.setStatus(field, value)
}

// recordOwnership records in the status that the observed external resource is the object's own, where no label shows that, or where one
// does that people may remove and without which the object may not adopt the resource. It also replaces the proof of an earlier version,
// in the first pass that writes the status: an annotation that is changed later proves nothing. One that is changed before that pass, as
// while no process runs during the upgrade, is not noticed.
func (r *Reconciler) recordOwnership(p *pass, o outcome, unchanged bool) error {
	recorded := p.memory.stored.ownership
	needed := p.observation.Owner == nil || p.adoption.Namespace == "" && p.adoption.Check(meta.GetExternalName(p.managed), false, "") != nil
	found := !p.memory.pruned && p.observed && p.observation.ResourceExists && needed && p.owns()
	shared := !r.labels && resource.ProviderConfigKind(p.managed) == xpv1.ClusterProviderConfigKind
	earlier := shared && recorded == nil && p.wasOwn && (!p.memory.pruned || o.End.Bad() || meta.WasDeleted(p.managed))
	now := p.ownershipNow()
	if p.onlyObserves() || !found && !earlier || meta.GetExternalName(p.managed) == "" || unchanged && reflect.DeepEqual(recorded, now) {
		return nil
	}
	return p.setStatus(ownership, now)
}
