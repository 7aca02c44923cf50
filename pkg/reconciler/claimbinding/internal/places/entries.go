// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package places

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// AnnotationKeyClaims on a class with a limit lists the claims that use it: a JSON object with their UIDs as keys and their kinds,
// "<kind>.<group>", as values. It has no names, since teams that read classes must not learn those of other teams. The greatest limit
// takes far less than the 256 KiB of annotations that an object may have.
const AnnotationKeyClaims = "bowline.dev/claims"

// An entry is the kind of a claim that uses a class, of those that the class serves.
type entry string

func entriesOf(class resource.Class) (map[types.UID]entry, error) {
	entries := map[types.UID]entry{}
	text := class.GetAnnotations()[AnnotationKeyClaims]
	if text == "" {
		return entries, nil
	}
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, &failure.Error{Reason: xpv1.ReasonLimitReached, Message: fmt.Sprintf("annotation %s of class %q is damaged: ask your "+
			"platform team to remove it, and it is written again", AnnotationKeyClaims, class.GetName())}
	}
	return entries, nil
}

// isDamaged is true for the error about a list that cannot be read.
func isDamaged(err error) bool { return failure.Of(err).Reason == xpv1.ReasonLimitReached }

func setEntries(class resource.Class, entries map[types.UID]entry) {
	annotations := maps.Clone(class.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	delete(annotations, AnnotationKeyClaims)
	if len(entries) > 0 {
		text, _ := json.Marshal(entries) // strings can always be written
		annotations[AnnotationKeyClaims] = string(text)
	}
	class.SetAnnotations(annotations)
}

// served returns the claims to which managed resources of the class belong. These include claims from before the class had a limit,
// and deleted ones whose managed resource was kept, until an administrator clears its spec.claimRef.
func (c Counter) served(ctx context.Context, from client.Reader, class string) (sets.Set[types.UID], error) {
	all, err := c.Managed(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("listing managed resources: %w", err)
	}
	claims := sets.New[types.UID]()
	for _, mg := range all {
		by, of := mg.GetClassReference(), mg.GetClaimReference()
		if objects.IsOf(by, c.ClassKind) && by.Name == class && of != nil && of.UID != "" {
			claims.Insert(of.UID)
		}
	}
	return claims, nil
}

// prune removes entries of claims that are gone or use another class. Claims normally remove their own; this repairs what a crash
// or an administrator left.
func (c Counter) prune(ctx context.Context, class string, entries map[types.UID]entry) error {
	outdated := maps.Clone(entries)
	for _, from := range []client.Reader{c.Client, c.Live} { // the cache may be behind
		for kind := range sets.New(slices.Collect(maps.Values(outdated))...) {
			if err := c.confirm(ctx, from, kind, class, outdated); err != nil {
				return err
			}
		}
	}
	maps.DeleteFunc(entries, func(uid types.UID, _ entry) bool {
		_, is := outdated[uid]
		return is
	})
	return nil
}

// confirm removes from the outdated entries those of a kind whose claim exists and names the class.
func (c Counter) confirm(ctx context.Context, from client.Reader, e entry, class string, outdated map[types.UID]entry) error {
	kind := schema.ParseGroupKind(string(e))
	versions := c.Scheme.VersionsForGroupKind(kind)
	if len(versions) == 0 { // another process serves it
		maps.DeleteFunc(outdated, func(_ types.UID, of entry) bool { return of == e })
		return nil
	}
	one, err := c.Scheme.New(versions[0].WithKind(kind.Kind))
	if _, ok := one.(resource.Claim); err != nil || !ok {
		return err
	}
	list := objects.MustNewList[client.ObjectList](c.Scheme, versions[0].WithKind(kind.Kind))
	if err := from.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing claims of kind %s: %w", e, err)
	}
	return apimeta.EachListItem(list, func(o runtime.Object) error {
		claim, ok := o.(resource.Claim)
		if !ok {
			return nil
		}
		if ref := claim.GetClassReference(); objects.IsOf(ref, c.ClassKind) && ref.Name == class {
			delete(outdated, claim.GetUID())
		}
		return nil
	})
}
