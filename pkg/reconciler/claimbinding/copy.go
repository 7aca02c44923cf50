// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// owner is the claim as one that has copies.
func (r *Reconciler) owner(claim resource.Claim) copies.Owner {
	return copies.Owner{Client: r.client, Live: r.live, Object: claim, Kind: r.claimKind, Word: "claim",
		Field: "spec.writeConnectionSecretToRef"}
}

// writeCopy makes the copy in one write that says whose it is and where its content is from. A copy of another source, one that
// was published anew, gets the new content; that of the same source is left to package secret. What only the copy still has stays:
// such a copy goes on to name the source that was lost, so that package secret leaves it alone, and is brought up to date here.
func (r *Reconciler) writeCopy(ctx context.Context, p *pass, key types.NamespacedName,
	have, source *corev1.Secret) (*corev1.Secret, error) {
	have, err := r.makeCopy(ctx, p, key, have, source)
	if err != nil || copies.IsFrom(have, source) {
		return have, err
	}
	kept := keptKeys(p.claim, have, source)
	data := maps.Clone(kept)
	maps.Copy(data, source.Data)
	content, mistaken := connection.Content(p.claim, data)
	p.mistaken = mistaken
	wanted := have.DeepCopy()
	if len(kept) == 0 {
		meta.AllowPropagationFrom(wanted, source)
	} else {
		p.mistaken = also(mistaken, r.kept(p, key.Name, kept))
		if copies.IsImmutable(have) || maps.EqualFunc(have.Data, content, bytes.Equal) {
			return have, nil
		}
	}
	return write(ctx, r, have, func(secret *corev1.Secret) { secret.Annotations, secret.Data = wanted.Annotations, content })
}

// makeCopy makes the copy if there is none, or if the one that is there cannot be changed and is not as it should be. It returns
// the copy that is there then.
func (r *Reconciler) makeCopy(ctx context.Context, p *pass, key types.NamespacedName,
	have, source *corev1.Secret) (*corev1.Secret, error) {
	var content map[string][]byte
	content, p.mistaken = connection.Content(p.claim, source.Data)
	if have != nil {
		same := maps.EqualFunc(have.Data, content, bytes.Equal)
		if same || !copies.IsImmutable(have) || len(keptKeys(p.claim, have, source)) > 0 {
			return have, nil
		}
		if err := r.owner(p.claim).Remove(ctx, have); err != nil {
			return nil, err
		}
	}
	made, _, err := r.owner(p.claim).Make(ctx, key, source, content, nil)
	return made, err
}

// isFromManaged is true for a copy of what the managed resource published, whether that is still there or not.
func (r *Reconciler) isFromManaged(p *pass, to *corev1.Secret) bool {
	ref, wanted := resource.ConnectionSecretReference(p.managed)
	if to == nil || !wanted {
		return false
	}
	from, known := meta.PropagatedFrom(to)
	return known && from.NamespacedName == types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
}

// keptKeys returns what only the copy still has, where its source was lost and published anew without: not what the claim derives.
func keptKeys(claim resource.Claim, have, source *corev1.Secret) map[string][]byte {
	kept := map[string][]byte{}
	if !copies.IsOfLost(have, source) {
		return kept
	}
	for key, value := range have.Data {
		others := maps.Clone(have.Data)
		delete(others, key)
		derived, _ := connection.Content(claim, others)
		_, published := source.Data[key]
		if _, derives := derived[key]; !derives && !published {
			kept[key] = value
		}
	}
	return kept
}

// kept says which keys the copy alone has.
func (r *Reconciler) kept(p *pass, name string, kept map[string][]byte) error {
	return fmt.Errorf("the connection Secret of managed resource %s %q lost %s, which Secret %q still has and keeps: ask your platform "+
		"team to add what is missing to theirs; to do without, delete yours, and it is made anew", r.managedKind.Kind,
		p.managed.GetName(), strings.Join(slices.Sorted(maps.Keys(kept)), ", "), name)
}

// missed says which keys the source lost, and so the copy lacks; nil for none.
func (r *Reconciler) missed(p *pass, source *corev1.Secret) error {
	lost := slices.DeleteFunc(managed.CreatedKeys(p.managed), func(key string) bool {
		_, has := source.Data[key]
		return has
	})
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("the connection Secret of managed resource %s %q lost %s: ask your platform team, who sees in its conditions what "+
		"to do", r.managedKind.Kind, p.managed.GetName(), strings.Join(lost, ", "))
}

// also joins what is mistaken, in one line.
func also(mistaken, another error) error {
	if mistaken == nil || another == nil {
		return cmp.Or(mistaken, another)
	}
	return fmt.Errorf("%w; %w", mistaken, another)
}
