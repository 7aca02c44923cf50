// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package places

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// attempts is how often Reserve retries a conflict on a class.
const attempts = 5

// A Counter counts the claims that use classes of one kind.
type Counter struct {
	Client    client.Client
	Live      client.Reader // not cached
	Scheme    *runtime.Scheme
	ClaimKind schema.GroupVersionKind // of the claims that get places
	ClassKind schema.GroupVersionKind
	// Managed lists all managed resources of the kind that the classes are for. They are not changed.
	Managed func(ctx context.Context, from client.Reader) ([]resource.BindableManaged, error)
}

// Reserve gives a claim a place in a class, unless as many claims as the class allows use it. It returns that number then. The list of
// claims is read from the API server and guarded by the resource version, so that no race exceeds the limit. The error has the reason
// LimitReached if the list cannot be read; it is for the team.
func (c Counter) Reserve(ctx context.Context, class string, claim types.UID) (most int64, full bool, err error) {
	for range attempts {
		if most, full, err = c.tryReserve(ctx, class, claim); !apierrors.IsConflict(err) {
			break
		}
	}
	return most, full, err
}

func (c Counter) tryReserve(ctx context.Context, name string, claim types.UID) (most int64, full bool, err error) {
	class, entries, err := c.read(ctx, name)
	if err != nil {
		return 0, false, err
	}
	limit := class.GetClaimLimits().Max
	if _, counted := entries[claim]; counted || limit == nil {
		return 0, false, nil
	}
	if full, err = c.full(ctx, class, entries, claim); full || err != nil {
		return *limit, full, err
	}
	entries[claim] = entry(c.ClaimKind.GroupKind().String())
	return *limit, false, c.write(ctx, class, entries)
}

// GiveUp takes back the place that a claim has in a class, so that another may have it.
func (c Counter) GiveUp(ctx context.Context, name string, claim types.UID) error {
	class := c.newClass()
	if err := c.Client.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		return client.IgnoreNotFound(err)
	}
	if class.GetClaimLimits().Max == nil && class.GetAnnotations()[AnnotationKeyClaims] == "" {
		return nil
	}
	class, entries, err := c.read(ctx, name) // the cache may not have the entry yet
	if isDamaged(err) {
		return nil // and counts no claim
	} else if err != nil {
		return client.IgnoreNotFound(err)
	}
	if _, counted := entries[claim]; !counted {
		return nil
	}
	delete(entries, claim)
	return client.IgnoreNotFound(c.write(ctx, class, entries))
}

// read returns a class as the API server has it, and its list.
func (c Counter) read(ctx context.Context, name string) (resource.Class, map[types.UID]entry, error) {
	class := c.newClass()
	if err := c.Live.Get(ctx, types.NamespacedName{Name: name}, class); err != nil {
		return nil, nil, err
	}
	entries, err := entriesOf(class)
	return class, entries, err
}

func (c Counter) write(ctx context.Context, class resource.Class, entries map[types.UID]entry) error {
	_, err := objects.Patch(ctx, c.Client, class, func(class resource.Class) { setEntries(class, entries) })
	return err
}

func (c Counter) newClass() resource.Class {
	return objects.MustNew[resource.Class](c.Scheme, c.ClassKind)
}

// full is true if no other claim may use the class. Outdated entries are removed first. Then managed resources are read from the
// API server: they are all that counts a claim whose entry is gone.
func (c Counter) full(ctx context.Context, class resource.Class, entries map[types.UID]entry, self types.UID) (bool, error) {
	reached := func(from client.Reader) (bool, error) {
		users, err := c.served(ctx, from, class.GetName())
		if err != nil {
			return false, err
		}
		users = users.Union(sets.KeySet(entries)).Delete(self)
		return int64(users.Len()) >= *class.GetClaimLimits().Max, nil
	}
	full, err := reached(c.Client)
	if err == nil && full {
		if err := c.prune(ctx, class.GetName(), entries); err != nil {
			return false, err
		}
		full, err = reached(c.Client)
	}
	if err == nil && !full {
		full, err = reached(c.Live)
	}
	return full, err
}
