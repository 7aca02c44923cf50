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
	"github.com/bowline-dev/bowline/pkg/resource"
)

// reserveAttempts is how often one pass tries to write to a class that others write to.
const reserveAttempts = 5

// reserve counts the claim among those that use a class with a limit, before anything is made. The entry is read and
// written in the API server itself, guarded by the resource version: no race exceeds the limit.
func (r *Reconciler) reserve(ctx context.Context, p *pass) outcome {
	if p.managed != nil || p.class.GetClaimLimits().Max == nil {
		return next()
	}
	for range reserveAttempts {
		o, err := r.tryReserve(ctx, p)
		if !apierrors.IsConflict(err) {
			if err != nil {
				return fail(fmt.Errorf("counting the claims that use class %q: %w", p.class.GetName(), err))
			}
			return o
		}
	}
	return outcome{end: conflict}
}

func (r *Reconciler) tryReserve(ctx context.Context, p *pass) (outcome, error) {
	class := r.newClass()
	if err := r.live.Get(ctx, types.NamespacedName{Name: p.class.GetName()}, class); err != nil {
		return outcome{}, err
	}
	most := class.GetClaimLimits().Max
	entries, err := entriesOf(class)
	if err != nil {
		return refuse(xpv1.ReasonLimitReached, err), nil
	}
	self := p.claim.GetUID()
	if _, counted := entries[self]; counted || most == nil {
		return next(), nil
	}
	full, err := r.full(ctx, class, entries, self)
	if err != nil {
		return outcome{}, err
	}
	if full {
		return await(xpv1.ReasonLimitReached, fmt.Sprintf("Class %q may be used by %d claims at the same time, and so many do, or left what "+
			"is kept. Wait until one of them goes, use another class, or ask your platform team to raise specTemplate.claims.max, or to "+
			"delete what deleted claims left, or to clear its spec.claimRef.", class.GetName(), *most)), nil
	}
	entries[self] = r.entry()
	_, err = write(ctx, r, class, func(c resource.Class) { setEntries(c, entries) })
	return next(), err
}

// full is true if no other claim may use the class. Entries that count no more are forgotten first. Then what was made is read
// past the cache: of a claim whose entry is gone nothing else tells any more.
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

// unreserve takes a deleted claim off the class that it used, so that another may have its place.
func (r *Reconciler) unreserve(ctx context.Context, p *pass) outcome {
	ref := p.claim.GetClassReference()
	if !isOf(ref, r.classKind) {
		return next()
	}
	class, key := r.newClass(), types.NamespacedName{Name: ref.Name}
	if err := r.client.Get(ctx, key, class); err != nil {
		return ignoreNotFound(err, "reading the class")
	}
	if class.GetClaimLimits().Max == nil && class.GetAnnotations()[AnnotationKeyClaims] == "" {
		return next()
	}
	class = r.newClass()
	if err := r.live.Get(ctx, key, class); err != nil { // the cache may not have the entry yet
		return ignoreNotFound(err, "reading the class")
	}
	entries, err := entriesOf(class)
	if _, counted := entries[p.claim.GetUID()]; err != nil || !counted {
		return next() // what cannot be read counts nobody
	}
	delete(entries, p.claim.GetUID())
	if _, err := write(ctx, r, class, func(c resource.Class) { setEntries(c, entries) }); err != nil {
		return ignoreNotFound(err, "giving up the place in the class")
	}
	return next()
}

// ignoreNotFound goes on where there is nothing left to change.
func ignoreNotFound(err error, doing string) outcome {
	if apierrors.IsNotFound(err) {
		return next()
	}
	return fail(fmt.Errorf("%s: %w", doing, err))
}

func union(entries map[types.UID]entry, served map[types.UID]struct{}) map[types.UID]struct{} {
	all := map[types.UID]struct{}{}
	for uid := range entries {
		all[uid] = struct{}{}
	}
	for uid := range served {
		all[uid] = struct{}{}
	}
	return all
}
