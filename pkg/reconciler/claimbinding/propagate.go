// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
)

// propagate gives the claim its copy of the connection Secret (R270), controlled by the claim (R272), and lets both Secrets
// agree that changes go on to it (R271). Carrying later changes is for package secret.
func (r *Reconciler) propagate(ctx context.Context, p *pass) outcome {
	to := p.claim.GetWriteConnectionSecretToReference()
	source, err := copies.Source(ctx, r.client, p.managed)
	if err != nil {
		return fail(err)
	}
	if err := r.withdraw(ctx, p, source, to); err != nil {
		return fail(err)
	}
	if to == nil || to.Name == "" { // R278
		return next()
	}
	key := types.NamespacedName{Namespace: p.claim.GetNamespace(), Name: to.Name}
	r.waiting.wait(client.ObjectKeyFromObject(p.claim), secretTopic(key.Namespace, key.Name))
	have, err := r.owner(p.claim).At(ctx, key)
	switch {
	case err != nil:
	case source == nil && r.isFromManaged(p, have):
		p.mistaken = fmt.Errorf("the connection Secret of managed resource %s %q is gone: Secret %q stays as it is until that is published "+
			"again, which its controller does by itself", r.managedKind.Kind, p.managed.GetName(), key.Name)
		return next()
	case source == nil:
		return await(xpv1.ReasonBinding, fmt.Sprintf("Managed resource %s %q has published no connection details yet. Wait until it does; "+
			"if its kind has none, remove spec.writeConnectionSecretToRef.", r.managedKind.Kind, p.managed.GetName()))
	default:
		have, err = r.writeCopy(ctx, p, key, have, source)
	}
	switch {
	case copies.IsForeign(err):
		if err := r.revokeOutdated(ctx, p, source, nil); err != nil { // it may have been the claim's
			return fail(err)
		}
		return refuse(xpv1.ReasonBinding, err)
	case copies.FullQuota(err) != "":
		return refuse(xpv1.ReasonBinding, fmt.Errorf("namespace %q has no room for Secret %q: remove what you do not need, or ask who "+
			"manages the namespace to raise its quota %q", key.Namespace, key.Name, copies.FullQuota(err)))
	case err != nil:
		return fail(fmt.Errorf("writing the connection Secret of the claim: %w", err))
	case !copies.IsFrom(have, source): // it keeps what the source has no more
		return next()
	}
	p.mistaken = also(p.mistaken, r.missed(p, source))
	if err := copies.Agree(ctx, r.client, source, have); err != nil {
		return fail(fmt.Errorf("letting the connection Secret of the managed resource go on to the claim's: %w", err))
	}
	return next()
}
