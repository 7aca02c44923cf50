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
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// reclaimStrays looks after managed resources that name a claim which is gone, because somebody removed its finalizer or it was
// made anew meanwhile, and after those that were made for a claim which names another one, or another kind of class, by now. What
// was made for the claim goes as its reclaim policy says; what existed before is never deleted for a claim that is gone.
func (r *Reconciler) reclaimStrays(ctx context.Context, key types.NamespacedName, known resource.Claim) error {
	strays, err := r.naming(ctx, key)
	strays = slices.DeleteFunc(strays, func(mg resource.BindableManaged) bool { return r.keeps(known, mg) })
	if err != nil || len(strays) == 0 {
		return err
	}
	claim := r.newClaim()
	err = r.live.Get(ctx, key, claim)
	if client.IgnoreNotFound(err) != nil || apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return fmt.Errorf("reading the claim: %w", err) // where the kind is not served nobody knows whether the claim is gone
	}
	for _, mg := range strays {
		p := &pass{claim: claim, managed: mg.DeepCopyObject().(resource.BindableManaged)}
		made := mg.GetLabels()[LabelClaimUID] == string(claimUID(mg))
		switch {
		case err != nil || !r.belongs(mg, claim):
			if err := r.abandon(ctx, p, made); err != nil {
				return err
			}
			r.log.Info("Gave up a managed resource whose claim is gone", "managed", mg.GetName(), "claim", key)
		case made && !r.keeps(claim, mg):
			if o := r.reclaim(ctx, p); o.err != nil {
				return o.err
			}
			r.log.Info("Gave up a managed resource whose claim uses another by now", "managed", mg.GetName(), "claim", key)
		}
	}
	return nil
}

// keeps is true for a managed resource that belongs to the claim, and that the pass over the claim looks after.
func (r *Reconciler) keeps(claim resource.Claim, mg resource.BindableManaged) bool {
	ref := claim.GetResourceReference()
	return r.belongs(mg, claim) && r.serves(claim) && (ref == nil || ref.Name == mg.GetName())
}

// abandon does with the managed resource of a claim that is gone what its reclaim policy says, if it was made for that claim. Any
// other is kept.
func (r *Reconciler) abandon(ctx context.Context, p *pass, made bool) error {
	if made {
		return r.reclaim(ctx, p).err
	}
	return r.release(ctx, p).err
}

// reclaimMade does with what was made for a deleted claim that names something else, or nothing yet, what its reclaim policy says.
// It asks the API server itself: what is overlooked now would be found again only by chance.
func (r *Reconciler) reclaimMade(ctx context.Context, p *pass) outcome {
	made, err := r.made(ctx, p.claim.GetUID())
	if err != nil {
		return fail(err)
	}
	ref := p.claim.GetResourceReference()
	for _, mg := range made {
		if ref != nil && ref.Name == mg.GetName() {
			continue // for recall
		}
		p.managed = mg
		if o := r.reclaim(ctx, p); o.end != goOn {
			return o
		}
	}
	p.managed = nil
	return next()
}

// naming returns the managed resources that name a claim, with its UID, and are neither released nor deleted.
func (r *Reconciler) naming(ctx context.Context, claim types.NamespacedName) (found []resource.BindableManaged, err error) {
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if r.indexed {
		options = append(options, client.MatchingFields{r.claimIndex(): claim.String()})
	}
	list := r.newManagedList()
	if err := r.client.List(ctx, list, options...); isUnserved(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("listing managed resources: %w", err)
	}
	all, err := bindables(list)
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

// indexClaim is what managed resources are found by.
func (r *Reconciler) indexClaim(o client.Object) []string {
	mg, ok := o.(resource.BindableManaged)
	if !ok {
		return nil
	}
	ref := mg.GetClaimReference()
	if !isOf(ref, r.claimKind) {
		return nil
	}
	return []string{meta.NamespacedNameOf(ref).String()}
}
