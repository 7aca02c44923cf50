// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// copySecret requests the copy of a bound claim, and reports what keeps it from being created or complete (R270, R271, R278).
func (r *Reconciler) copySecret(ctx context.Context, p *pass) flow.Outcome {
	to := p.claim.GetWriteConnectionSecretToReference()
	wanted := to != nil && to.Name != ""
	if wanted {
		at := types.NamespacedName{Namespace: p.claim.GetNamespace(), Name: to.Name}
		r.waiters.Wait(client.ObjectKeyFromObject(p.claim), watch.Topic{Kind: topicSecret, NamespacedName: at})
	}
	secret, err := r.copies.Copy(ctx, r.owner(p.claim), p.managed, copies.Certain)
	switch {
	case copies.IsBlocked(err):
		r.log.V(1).Info("The claim cannot have its Secret", "claim", client.ObjectKeyFromObject(p.claim), "cause", errors.Unwrap(err))
		return refuse(xpv1.ReasonBinding, err)
	case err != nil:
		return fail("writing the connection Secret of the claim", err)
	case wanted && !secret.Exists:
		return await(xpv1.ReasonBinding, fmt.Sprintf("Managed resource %s %q has published no connection details yet. Wait until it does; if "+
			"its kind has none, remove spec.writeConnectionSecretToRef.", r.managedKind.Kind, p.managed.GetName()))
	}
	p.Mistake = secret.Problem
	return flow.Next()
}

func (r *Reconciler) owner(claim resource.Claim) copies.Owner {
	return copies.Claim(claim, r.claimKind, r.managedKind.Kind)
}
