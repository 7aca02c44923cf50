// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// reclaimStrays deletes or releases managed resources of a claim that is gone, because its finalizer was removed or it was created
// again, and those that were created for a claim which names another one, or another kind of class, by now. What was created for the
// claim is reclaimed by its reclaim policy; what existed before is never deleted for a claim that is gone.
func (r *Reconciler) reclaimStrays(ctx context.Context, key types.NamespacedName, known resource.Claim) error {
	strays, err := r.naming(ctx, key)
	strays = slices.DeleteFunc(strays, func(mg resource.BindableManaged) bool { return r.keeps(known, mg) })
	if err != nil || len(strays) == 0 {
		return err
	}
	claim := r.newClaim()
	err = r.live.Get(ctx, key, claim)
	if client.IgnoreNotFound(err) != nil || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return fmt.Errorf("reading the claim: %w", err) // of a kind that is not served, the claim may exist
	}
	for _, mg := range strays {
		p := &pass{claim: claim, managed: mg.DeepCopyObject().(resource.BindableManaged)}
		created := mg.GetLabels()[LabelClaimUID] == string(claimUID(mg))
		switch {
		case err != nil || !r.belongs(mg, claim):
			if err := r.abandon(ctx, p, created); err != nil {
				return err
			}
			r.log.Info("Gave up a managed resource whose claim is gone", "managed", mg.GetName(), "claim", key)
		case created && !r.keeps(claim, mg):
			if o := r.reclaim(ctx, p); o.Err != nil {
				return o.Err
			}
			r.log.Info("Gave up a managed resource whose claim uses another one", "managed", mg.GetName(), "claim", key)
		}
	}
	return nil
}

// keeps is true for a managed resource that the pass over its claim handles.
func (r *Reconciler) keeps(claim resource.Claim, mg resource.BindableManaged) bool {
	ref := claim.GetResourceReference()
	return r.belongs(mg, claim) && r.serves(claim) && (ref == nil || ref.Name == mg.GetName())
}

// abandon reclaims the managed resource of a claim that is gone, if it was created for that claim, and releases any other.
func (r *Reconciler) abandon(ctx context.Context, p *pass, created bool) error {
	if created {
		return r.reclaim(ctx, p).Err
	}
	return r.release(ctx, p).Err
}

// reclaimUnreferenced reclaims what was created for a deleted claim that names something else, or nothing yet. It asks the API
// server, since nothing looks again.
func (r *Reconciler) reclaimUnreferenced(ctx context.Context, p *pass) flow.Outcome {
	created, err := r.createdFor(ctx, p.claim.GetUID())
	if err != nil {
		return fail("listing what was created for the claim", err)
	}
	ref := p.claim.GetResourceReference()
	for _, mg := range created {
		if ref != nil && ref.Name == mg.GetName() {
			continue // for findBound
		}
		p.managed = mg
		if o := r.reclaim(ctx, p); o.End != flow.Continue {
			return o
		}
	}
	p.managed = nil
	return flow.Next()
}

// naming returns the managed resources that name a claim, with its UID, and are neither released nor deleted.
func (r *Reconciler) naming(ctx context.Context, claim types.NamespacedName) (found []resource.BindableManaged, err error) {
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if r.indexed {
		options = append(options, client.MatchingFields{r.claimIndex(): claim.String()})
	}
	all, err := r.listManaged(ctx, r.client, options...)
	if objects.IsAbsent(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing managed resources: %w", err)
	}
	for _, mg := range all {
		ref := mg.GetClaimReference()
		settled := mg.GetBindingPhase() == xpv1.BindingPhaseReleased || meta.WasDeleted(mg)
		if ref != nil && ref.UID != "" && r.names(ref, claim) && !settled {
			found = append(found, mg)
		}
	}
	return found, err
}

// claimIndex is the name of the index of managed resources by the claim that they name. Each claim kind has its own.
func (r *Reconciler) claimIndex() string { return "claimbinding/" + r.claimKind.GroupKind().String() }

// indexClaim returns the values of the index.
func (r *Reconciler) indexClaim(o client.Object) []string {
	mg, ok := o.(resource.BindableManaged)
	if !ok {
		return nil
	}
	ref := mg.GetClaimReference()
	if !objects.IsOf(ref, r.claimKind) {
		return nil
	}
	return []string{meta.NamespacedNameOf(ref).String()}
}
