// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// reserveAttempts is how often one pass retries a conflict on a class.
const reserveAttempts = 5

// reserve adds the claim to the list of those that use a class with a limit, before anything is created. The list is read from the
// API server and guarded by the resource version, so that no race exceeds the limit.
func (r *Reconciler) reserve(ctx context.Context, p *pass) flow.Outcome {
	if p.managed != nil || p.class.GetClaimLimits().Max == nil {
		return flow.Next()
	}
	for range reserveAttempts {
		o, err := r.tryReserve(ctx, p)
		if !apierrors.IsConflict(err) {
			if err != nil {
				return fail("counting the claims that use the class", err)
			}
			return o
		}
	}
	return flow.Conflicted()
}

func (r *Reconciler) tryReserve(ctx context.Context, p *pass) (flow.Outcome, error) {
	class := r.newClass()
	if err := r.live.Get(ctx, types.NamespacedName{Name: p.class.GetName()}, class); err != nil {
		return flow.Outcome{}, err
	}
	most := class.GetClaimLimits().Max
	entries, err := entriesOf(class)
	if err != nil {
		return refuse(xpv1.ReasonLimitReached, err), nil
	}
	self := p.claim.GetUID()
	if _, counted := entries[self]; counted || most == nil {
		return flow.Next(), nil
	}
	full, err := r.full(ctx, class, entries, self)
	if err != nil {
		return flow.Outcome{}, err
	}
	if full {
		return await(xpv1.ReasonLimitReached, fmt.Sprintf("Class %q allows %d claims, and as many use it or left a managed resource that is "+
			"kept. Wait until one is deleted, use another class, or ask your platform team to raise specTemplate.claims.max, or to delete "+
			"what deleted claims left or clear its spec.claimRef.", class.GetName(), *most)), nil
	}
	entries[self] = r.entry()
	_, err = objects.Patch(ctx, r.client, class, func(c resource.Class) { setEntries(c, entries) })
	return flow.Next(), err
}

// full is true if no other claim may use the class. Outdated entries are removed first. Then managed resources are read from the
// API server: they are all that counts a claim whose entry is gone.
func (r *Reconciler) full(ctx context.Context, class resource.Class, entries map[types.UID]entry, self types.UID) (bool, error) {
	reached := func(from client.Reader) (bool, error) {
		served, err := r.served(ctx, from, class.GetName())
		delete(served, self)
		return int64(len(union(entries, served))) >= *class.GetClaimLimits().Max, err
	}
	full, err := reached(r.client)
	if err == nil && full {
		if err := r.prune(ctx, class.GetName(), entries); err != nil {
			return false, err
		}
		full, err = reached(r.client)
	}
	if err == nil && !full {
		full, err = reached(r.live)
	}
	return full, err
}

// unreserve removes a deleted claim from the list of the class that it used, so that another may have its place.
func (r *Reconciler) unreserve(ctx context.Context, p *pass) flow.Outcome {
	ref := p.claim.GetClassReference()
	if !isOf(ref, r.classKind) {
		return flow.Next()
	}
	class, key := r.newClass(), types.NamespacedName{Name: ref.Name}
	if err := r.client.Get(ctx, key, class); err != nil {
		return ignoreNotFound(err, "reading the class")
	}
	if class.GetClaimLimits().Max == nil && class.GetAnnotations()[AnnotationKeyClaims] == "" {
		return flow.Next()
	}
	class = r.newClass()
	if err := r.live.Get(ctx, key, class); err != nil { // the cache may not have the entry yet
		return ignoreNotFound(err, "reading the class")
	}
	entries, err := entriesOf(class)
	if _, counted := entries[p.claim.GetUID()]; err != nil || !counted {
		return flow.Next() // a list that cannot be read counts no claim
	}
	delete(entries, p.claim.GetUID())
	if _, err := objects.Patch(ctx, r.client, class, func(c resource.Class) { setEntries(c, entries) }); err != nil {
		return ignoreNotFound(err, "giving up the place in the class")
	}
	return flow.Next()
}

// ignoreNotFound continues where there is nothing left to change.
func ignoreNotFound(err error, doing string) flow.Outcome {
	if apierrors.IsNotFound(err) {
		return flow.Next()
	}
	return fail(doing, err)
}

func union(entries map[types.UID]entry, served map[types.UID]struct{}) map[types.UID]struct{} {
	all := maps.Clone(served)
	for uid := range entries {
		all[uid] = struct{}{}
	}
	return all
}
