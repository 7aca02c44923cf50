// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package places counts the claims that use a class with a limit.
package places

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
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// AnnotationKey on a class with a limit lists the claims that use it: a JSON object with their UIDs as keys and their kinds,
// "<kind>.<group>", as values. It has no names, since teams that read classes must not learn those of other teams. The greatest limit
// takes far less than the 256 KiB of annotations that an object may have.
const AnnotationKey = "bowline.dev/claims"

// users are the claims that use a class, each with its kind.
type users map[types.UID]string

// Places counts the claims of one kind that use classes of one kind.
type Places struct {
	Client  client.Client
	Live    client.Reader // not cached, for what must be certain
	Claims  schema.GroupVersionKind
	Classes schema.GroupVersionKind
	// Managed lists the managed resources of the kind that the classes provide.
	Managed func(context.Context, client.Reader) ([]resource.BindableManaged, error)
}

// Take adds a claim to the users of its class, unless that is full, and returns the class as the API server has it. The write is guarded by
// the resource version, so that no race exceeds the limit. IsDamaged is true for the error about a list of users that cannot be read.
func (r Places) Take(ctx context.Context, name string, claim types.UID) (class resource.Class, full bool, err error) {
	class, by, err := r.readUsers(ctx, name)
	if err != nil {
		return nil, false, err
	}
	if _, counted := by[claim]; counted || class.GetClaimLimits().Max == nil {
		return class, false, nil
	}
	if full, err := r.isFull(ctx, class, by, claim); full || err != nil {
		return class, full, err
	}
	by[claim] = r.Claims.GroupKind().String()
	return class, false, r.storeUsers(ctx, class, by)
}

func (r Places) newClass() resource.Class {
	return objects.MustNew[resource.Class](r.Client.Scheme(), r.Classes)
}

// Leave gives up the place of a claim in a class.
func (r Places) Leave(ctx context.Context, name string, claim types.UID) error {
	class := r.newClass()
	if err := r.Client.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		return err
	}
	if class.GetClaimLimits().Max == nil && class.GetAnnotations()[AnnotationKey] == "" {
		return nil
	}
	class, by, err := r.readUsers(ctx, name) // the cache may not have the claim yet
	if IsDamaged(err) {
		return nil // and counts no claim
	}
	if _, counted := by[claim]; err != nil || !counted {
		return err
	}
	delete(by, claim)
	return r.storeUsers(ctx, class, by)
}

// readUsers returns a class as the API server has it, and the users that it lists.
func (r Places) readUsers(ctx context.Context, name string) (resource.Class, users, error) {
	class, by := r.newClass(), users{}
	if err := r.Live.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		return nil, nil, err
	}
	text := class.GetAnnotations()[AnnotationKey]
	if text == "" || json.Unmarshal([]byte(text), &by) == nil {
		return class, by, nil
	}
	return nil, nil, &failure.Error{Reason: xpv1.ReasonLimitReached, Message: fmt.Sprintf("annotation %s of class %q is damaged: ask your "+
		"platform team to remove it, and it is written again", AnnotationKey, name)}
}

// IsDamaged is true for the error about a list of users that cannot be read.
func IsDamaged(err error) bool { return failure.Of(err).Reason == xpv1.ReasonLimitReached }

func (r Places) storeUsers(ctx context.Context, class resource.Class, by users) error {
	_, err := objects.Patch(ctx, r.Client, class, func(class resource.Class) {
		text, _ := json.Marshal(by) // strings can always be written
		annotations := labels.Merge(class.GetAnnotations(), labels.Set{AnnotationKey: string(text)})
		if len(by) == 0 {
			delete(annotations, AnnotationKey)
		}
		class.SetAnnotations(annotations)
	})
	return err
}

// isFull is true if no other claim may use the class. Outdated users are removed first. Then managed resources are read from the
// API server: they are all that counts a claim that the class does not list.
func (r Places) isFull(ctx context.Context, class resource.Class, by users, self types.UID) (bool, error) {
	reached := func(from client.Reader) (bool, error) {
		served, err := r.served(ctx, from, class.GetName())
		return int64(served.Union(sets.KeySet(by)).Delete(self).Len()) >= *class.GetClaimLimits().Max, err
	}
	full, err := reached(r.Client)
	if err == nil && full {
		if err = r.prune(ctx, class.GetName(), by); err == nil {
			full, err = reached(r.Client)
		}
	}
	if err == nil && !full {
		full, err = reached(r.Live)
	}
	return full, err
}

// served returns the claims to which managed resources of the class belong. These include claims from before the class had a limit,
// and deleted ones whose managed resource was kept, until an administrator clears its spec.claimRef.
func (r Places) served(ctx context.Context, from client.Reader, class string) (sets.Set[types.UID], error) {
	all, err := r.Managed(ctx, from)
	claims := sets.New[types.UID]()
	for _, mg := range all {
		if by, of := mg.GetClassReference(), mg.GetClaimReference(); objects.IsOf(by, r.Classes) && by.Name == class && of != nil && of.UID != "" {
			claims.Insert(of.UID)
		}
	}
	return claims, err
}

// prune removes users that are gone or use another class. Claims normally remove themselves; this repairs what a crash or an
// administrator left.
func (r Places) prune(ctx context.Context, class string, by users) error {
	outdated := maps.Clone(by)
	for _, from := range []client.Reader{r.Client, r.Live} { // the cache may be behind
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
func (r Places) confirm(ctx context.Context, from client.Reader, name, class string, outdated users) error {
	kind := schema.ParseGroupKind(name)
	versions := r.Client.Scheme().VersionsForGroupKind(kind)
	if len(versions) == 0 { // another process serves it
		maps.DeleteFunc(outdated, func(_ types.UID, of string) bool { return of == name })
		return nil
	}
	one, err := r.Client.Scheme().New(versions[0].WithKind(kind.Kind))
	if _, ok := one.(resource.Claim); err != nil || !ok {
		return err
	}
	claims, err := objects.List[resource.Claim](ctx, from, r.Client.Scheme(), versions[0].WithKind(kind.Kind), client.UnsafeDisableDeepCopy)
	for _, claim := range claims {
		if ref := claim.GetClassReference(); objects.IsOf(ref, r.Classes) && ref.Name == class {
			delete(outdated, claim.GetUID())
		}
	}
	return err
}
