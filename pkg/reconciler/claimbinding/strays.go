// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// reclaimStrays looks after managed resources that name a claim which is gone although nobody released them, because somebody
// removed its finalizer, or which this controller does not look after, because its class was changed at the wrong moment. A claim
// that is gone never deletes anything: what named it is released, for an administrator.
func (r *Reconciler) reclaimStrays(ctx context.Context, key types.NamespacedName) error {
	strays, err := r.naming(ctx, key)
	if err != nil || len(strays) == 0 {
		return err
	}
	claim := r.newClaim()
	err = r.live.Get(ctx, key, claim)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the claim: %w", err)
	}
	for _, mg := range strays {
		p := &pass{claim: claim, managed: mg.DeepCopyObject().(resource.BindableManaged)}
		switch {
		case apierrors.IsNotFound(err), !r.belongs(mg, claim):
			if err := r.writePhase(ctx, p, xpv1.BindingPhaseReleased); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("releasing the managed resource of a claim that is gone: %w", err)
			}
			r.log.Info("Released a managed resource whose claim is gone", "managed", mg.GetName(), "claim", key)
		case !r.serves(claim) && mg.GetLabels()[LabelClaimUID] == string(claim.GetUID()):
			if o := r.reclaim(ctx, p); o.err != nil {
				return o.err
			}
			r.log.Info("Gave up a managed resource whose claim uses another class by now", "managed", mg.GetName(), "claim", key)
		}
	}
	return nil
}

// naming returns the managed resources that name a claim, with its UID, and are neither released nor deleted.
func (r *Reconciler) naming(ctx context.Context, claim types.NamespacedName) (found []resource.BindableManaged, err error) {
	options := []client.ListOption{client.UnsafeDisableDeepCopy}
	if r.indexed {
		options = append(options, client.MatchingFields{r.claimIndex(): claim.String()})
	}
	list := r.newManagedList()
	if err := r.client.List(ctx, list, options...); err != nil {
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
