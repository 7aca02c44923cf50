// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// AnnotationKeyClaims on a class with a limit lists the claims that use it: a JSON object with their UIDs as keys and their kinds,
// "<kind>.<group>", as values. It has no names, since teams that read classes must not learn those of other teams. The greatest limit
// takes far less than the 256 KiB of annotations that an object may have.
const AnnotationKeyClaims = "bowline.dev/claims"

// users are the claims that use a class, each with its kind.
type users map[types.UID]string

// reserve takes a place for the claim in a class with a limit, before anything is created.
func (r *Reconciler) reserve(ctx context.Context, p *pass) flow.Outcome {
	if p.managed != nil || p.class.GetClaimLimits().Max == nil {
		return flow.Next()
	}
	full := false
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		full, err = r.takePlace(ctx, p)
		return err
	})
	switch {
	case isDamaged(err):
		return flow.RejectedAs(xpv1.ReasonLimitReached, err)
	case err == nil && full:
		return flow.AwaitAs(xpv1.ReasonLimitReached, "Class %q allows %d claims, and as many use it or left a managed resource "+
			"that is kept. Wait until one is deleted, use another class, or ask your platform team to raise "+
			"specTemplate.claims.max, or to delete what deleted claims left or clear its spec.claimRef.", p.class.GetName(),
			*p.class.GetClaimLimits().Max)
	}
	return fail("counting the claims that use the class", err)
}

// takePlace adds the claim to the users of its class, unless that is full. It reads the class from the API server, and the write is
// guarded by the resource version, so that no race exceeds the limit.
func (r *Reconciler) takePlace(ctx context.Context, p *pass) (full bool, err error) {
	class, by, err := r.readUsers(ctx, p.class.GetName())
	if err != nil {
		return false, err
	}
	p.class = class
	if _, counted := by[p.claim.GetUID()]; counted || class.GetClaimLimits().Max == nil {
		return false, nil
	}
	if full, err := r.isFull(ctx, class, by, p.claim.GetUID()); full || err != nil {
		return full, err
	}
	by[p.claim.GetUID()] = r.claimKind.GroupKind().String()
	return false, r.storeUsers(ctx, class, by)
}

// unreserve gives up the place of a deleted claim in the class that it used.
func (r *Reconciler) unreserve(ctx context.Context, p *pass) flow.Outcome {
	ref := p.claim.GetClassReference()
	if !objects.IsOf(ref, r.classKind) {
		return flow.Next()
	}
	return fail("giving up the place in the class", client.IgnoreNotFound(r.leavePlace(ctx, ref.Name, p.claim.GetUID())))
}

func (r *Reconciler) leavePlace(ctx context.Context, name string, claim types.UID) error {
	class := r.newClass()
	if err := r.client.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		return err
	}
	if class.GetClaimLimits().Max == nil && class.GetAnnotations()[AnnotationKeyClaims] == "" {
		return nil
	}
	class, by, err := r.readUsers(ctx, name) // the cache may not have the claim yet
	if isDamaged(err) {
		return nil // and counts no claim
	}
	if _, counted := by[claim]; err != nil || !counted {
		return err
	}
	delete(by, claim)
	return r.storeUsers(ctx, class, by)
}

// readUsers returns a class as the API server has it, and the users that it lists.
func (r *Reconciler) readUsers(ctx context.Context, name string) (resource.Class, users, error) {
	class, by := r.newClass(), users{}
	if err := r.live.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		return nil, nil, err
	}
	text := class.GetAnnotations()[AnnotationKeyClaims]
	if text == "" || json.Unmarshal([]byte(text), &by) == nil {
		return class, by, nil
	}
	return nil, nil, &failure.Error{Reason: xpv1.ReasonLimitReached, Message: fmt.Sprintf("annotation %s of class %q is damaged: ask your "+
		"platform team to remove it, and it is written again", AnnotationKeyClaims, name)}
}

// isDamaged is true for the error about a list of users that cannot be read.
func isDamaged(err error) bool { return failure.Of(err).Reason == xpv1.ReasonLimitReached }

func (r *Reconciler) storeUsers(ctx context.Context, class resource.Class, by users) error {
	_, err := objects.Patch(ctx, r.client, class, func(class resource.Class) {
		text, _ := json.Marshal(by) // strings can always be written
		annotations := labels.Merge(class.GetAnnotations(), labels.Set{AnnotationKeyClaims: string(text)})
		if len(by) == 0 {
			delete(annotations, AnnotationKeyClaims)
		}
		class.SetAnnotations(annotations)
	})
	return err
}

// isFull is true if no other claim may use the class. Outdated users are removed first. Then managed resources are read from the
// API server: they are all that counts a claim that the class does not list.
func (r *Reconciler) isFull(ctx context.Context, class resource.Class, by users, self types.UID) (bool, error) {
	reached := func(from client.Reader) (bool, error) {
		served, err := r.served(ctx, from, class.GetName())
		return int64(served.Union(sets.KeySet(by)).Delete(self).Len()) >= *class.GetClaimLimits().Max, err
	}
	full, err := reached(r.client)
	if err == nil && full {
		if err = r.prune(ctx, class.GetName(), by); err == nil {
			full, err = reached(r.client)
		}
	}
	if err == nil && !full {
		full, err = reached(r.live)
	}
	return full, err
}

// served returns the claims to which managed resources of the class belong. These include claims from before the class had a limit,
// and deleted ones whose managed resource was kept, until an administrator clears its spec.claimRef.
func (r *Reconciler) served(ctx context.Context, from client.Reader, class string) (sets.Set[types.UID], error) {
	all, err := r.listManaged(ctx, from, client.UnsafeDisableDeepCopy)
	claims := sets.New[types.UID]()
	for _, mg := range all {
		if by := mg.GetClassReference(); objects.IsOf(by, r.classKind) && by.Name == class && claimUID(mg) != "" {
			claims.Insert(claimUID(mg))
		}
	}
	return claims, err
}

// prune removes users that are gone or use another class. Claims normally remove themselves; this repairs what a crash or an
// administrator left.
func (r *Reconciler) prune(ctx context.Context, class string, by users) error {
	outdated := maps.Clone(by)
	for _, from := range []client.Reader{r.client, r.live} { // the cache may be behind
		for kind := range sets.New(slices.Collect(maps.Values(outdated))...) {
			if err := r.confirm(ctx, from, kind, class, outdated); err != nil {
				return fmt.Errorf("listing claims of kind %s: %w", kind, err)
			}
		}
	}
	for uid := range outdated {
		delete(by, uid)
	}
	return nil
}

// confirm removes from the outdated users those of a kind that exist and name the class.
func (r *Reconciler) confirm(ctx context.Context, from client.Reader, name, class string, outdated users) error {
	kind := schema.ParseGroupKind(name)
	versions := r.scheme.VersionsForGroupKind(kind)
	if len(versions) == 0 { // another process serves it
		maps.DeleteFunc(outdated, func(_ types.UID, of string) bool { return of == name })
		return nil
	}
	one, err := r.scheme.New(versions[0].WithKind(kind.Kind))
	if _, ok := one.(resource.Claim); err != nil || !ok {
		return err
	}
	claims, err := objects.List[resource.Claim](ctx, from, r.scheme, versions[0].WithKind(kind.Kind), client.UnsafeDisableDeepCopy)
	for _, claim := range claims {
		if ref := claim.GetClassReference(); objects.IsOf(ref, r.classKind) && ref.Name == class {
			delete(outdated, claim.GetUID())
		}
	}
	return err
}
