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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// copyAt returns the claim's Secret of that name, nil if there is none. Connection Secrets are cached; whether another one is
// there can only be told by the API server, and only its metadata are read.
func (r *Reconciler) copyAt(ctx context.Context, claim resource.Claim, key types.NamespacedName) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.client.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err == nil && !isCopy(secret, claim) {
		err = &foreignSecretError{key.Name}
	}
	return secret, err
}

// isCopy is true for a Secret that can only be a copy of ours.
func isCopy(secret *corev1.Secret, claim resource.Claim) bool {
	return secret.Type == xpv1.SecretTypeConnection && metav1.IsControlledBy(secret, claim)
}

// writeCopy makes the copy in one write that says whose it is and where its content is from. A copy of another source, one that
// was published anew, gets the new content; that of the same source is left to package secret. What only the copy still has stays:
// such a copy goes on to name the source that was lost, so that package secret leaves it alone, and is brought up to date here.
func (r *Reconciler) writeCopy(ctx context.Context, p *pass, key types.NamespacedName,
	have, source *corev1.Secret) (*corev1.Secret, error) {
	have, err := r.makeCopy(ctx, p, key, have, source)
	if err != nil || isFrom(have, source) {
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
		if isImmutable(have) || maps.EqualFunc(have.Data, content, bytes.Equal) {
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
		if same || !isImmutable(have) || len(keptKeys(p.claim, have, source)) > 0 {
			return have, nil
		}
		err := r.client.Delete(ctx, have, client.Preconditions{UID: &have.UID})
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
	}
	made := &corev1.Secret{Type: xpv1.SecretTypeConnection, Data: content}
	made.Namespace, made.Name = key.Namespace, key.Name
	made.OwnerReferences = []metav1.OwnerReference{meta.AsController(p.claim, r.claimKind)}
	meta.AllowPropagationFrom(made, source)
	err := r.client.Create(ctx, made)
	if !apierrors.IsAlreadyExists(err) {
		return made, err
	}
	return r.overtaken(ctx, p.claim, key)
}

func isImmutable(secret *corev1.Secret) bool { return secret.Immutable != nil && *secret.Immutable }

// isFrom is true for a copy that says that it is from the source.
func isFrom(to, source *corev1.Secret) bool {
	from, known := meta.PropagatedFrom(to)
	return known && from.NamespacedName == client.ObjectKeyFromObject(source) && from.UID == source.UID
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
	from, known := meta.PropagatedFrom(have)
	if !known || from.NamespacedName != client.ObjectKeyFromObject(source) || from.UID == source.UID {
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
