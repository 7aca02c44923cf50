// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// AnnotationKeyClaims on a class with a limit lists the claims that use it: a JSON object with their UIDs as keys.
const AnnotationKeyClaims = "bowline.dev/claims"

// room is how many bytes of AnnotationKeyClaims entries may take: an object has 256 KiB of annotations. A thousand entries fit
// unless the names of claims are very long.
const room = 200 << 10

// An entry tells where the claim is that uses a class, of one of the kinds that the class serves: "<kind>.<group>
// <namespace>/<name>".
type entry string

func (r *Reconciler) entryOf(claim resource.Claim) entry {
	return entry(r.claimKind.GroupKind().String() + " " + client.ObjectKeyFromObject(claim).String())
}

func (e entry) claim() (kind schema.GroupKind, key types.NamespacedName) {
	of, name, _ := strings.Cut(string(e), " ")
	key.Namespace, key.Name, _ = strings.Cut(name, "/")
	return schema.ParseGroupKind(of), key
}

// fit is false for entries that leave no room for more.
func fit(entries map[types.UID]entry) bool {
	size := 0
	for uid, e := range entries {
		size += len(`"":"",`) + len(uid) + len(e)
	}
	return size < room
}

func entriesOf(class resource.Class) (map[types.UID]entry, error) {
	entries := map[types.UID]entry{}
	text := class.GetAnnotations()[AnnotationKeyClaims]
	if text == "" {
		return entries, nil
	}
	if err := json.Unmarshal([]byte(text), &entries); err != nil {
		return nil, fmt.Errorf("annotation %s of class %q is damaged: ask your platform team to remove it, it is written anew",
			AnnotationKeyClaims, class.GetName())
	}
	return entries, nil
}

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

// served returns the claims for which something was made from the class, as the managed resources tell: those count too that
// got it before the class had a limit, and those that are gone but left it to an administrator, who gives the place back by
// clearing spec.claimRef.
func (r *Reconciler) served(ctx context.Context, from client.Reader, class string) (map[types.UID]struct{}, error) {
	list := r.newManagedList()
	if err := from.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing managed resources: %w", err)
	}
	all, err := bindables(list)
	claims := map[types.UID]struct{}{}
	for _, mg := range all {
		by, of := mg.GetClassReference(), mg.GetClaimReference()
		if isOf(by, r.classKind) && by.Name == class && of != nil && of.UID != "" {
			claims[of.UID] = struct{}{}
		}
	}
	return claims, err
}

// prune forgets entries of claims that are gone, or use another class by now. Claims normally take themselves off; this heals
// what a crash or an administrator's hand left.
func (r *Reconciler) prune(ctx context.Context, class string, entries map[types.UID]entry) error {
	for uid, e := range entries {
		uses, err := r.uses(ctx, r.client, uid, e, class)
		if err == nil && !uses {
			uses, err = r.uses(ctx, r.live, uid, e, class) // the cache may be behind
		}
		if err != nil {
			return fmt.Errorf("looking for claim %s: %w", e, err)
		}
		if !uses {
			delete(entries, uid)
		}
	}
	return nil
}

// uses is true if the claim of an entry exists and names the class.
func (r *Reconciler) uses(ctx context.Context, from client.Reader, uid types.UID, e entry, class string) (bool, error) {
	kind, key := e.claim()
	versions := r.scheme.VersionsForGroupKind(kind)
	if len(versions) == 0 {
		return true, nil // of a kind that another process looks after
	}
	o, err := r.scheme.New(kind.WithVersion(versions[0].Version))
	if err != nil {
		return true, err
	}
	claim, ok := o.(resource.Claim)
	if !ok {
		return false, nil
	}
	err = from.Get(ctx, key, claim)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	ref := claim.GetClassReference()
	return claim.GetUID() == uid && isOf(ref, r.classKind) && ref.Name == class, err
}
