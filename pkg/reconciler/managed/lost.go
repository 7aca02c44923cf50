// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// AnnotationKeyCreatedKeys on a managed resource lists the keys of its connection secret that the creation told, separated by
// commas: nobody may tell them again. Without it nothing is missed.
const AnnotationKeyCreatedKeys = "bowline.dev/created-connection-keys"

// remember notes for AnnotationKeyCreatedKeys which keys the creation tells, if they are published at all.
func (p *pass) remember(details ConnectionDetails) {
	if _, wanted := resource.ConnectionSecretReference(p.managed); wanted {
		p.memory.told = slices.AppendSeq(p.memory.told, maps.Keys(details))
	}
}

// CreatedKeys returns what AnnotationKeyCreatedKeys on a managed resource lists, none without it.
func CreatedKeys(o metav1.Object) []string {
	return strings.FieldsFunc(o.GetAnnotations()[AnnotationKeyCreatedKeys], func(r rune) bool { return r == ',' || r == ' ' })
}

// setCreatedKeys writes AnnotationKeyCreatedKeys, or removes it where there are none.
func setCreatedKeys(o metav1.Object, keys []string) {
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[AnnotationKeyCreatedKeys] = strings.Join(slices.Compact(slices.Sorted(slices.Values(keys))), ",")
	if len(keys) == 0 {
		delete(annotations, AnnotationKeyCreatedKeys)
	}
	o.SetAnnotations(annotations)
}

// lostKeys returns the keys that the creation told and that the connection secret lacks, in order, but for those that this
// process remembers and will publish again. The API server itself is asked before anything is said to be lost.
func (r *Reconciler) lostKeys(ctx context.Context, p *pass) (lost []string, err error) {
	if _, wanted := resource.ConnectionSecretReference(p.managed); !wanted {
		return nil, nil
	}
	created := CreatedKeys(p.managed)
	if len(created) == 0 {
		return nil, nil
	}
	have := p.published
	if have == nil {
		if have, err = r.secrets.get(ctx, r.client, p.managed); err != nil {
			return nil, err
		}
	}
	if len(missing(have, created)) == 0 {
		return nil, nil
	}
	if have, err = r.secrets.get(ctx, r.live, p.managed); err != nil {
		return nil, err
	}
	kept := r.memory.kept(p.memory)
	return slices.DeleteFunc(missing(have, created), func(key string) bool { _, is := kept[key]; return is }), nil
}

// missing returns the keys that a secret lacks; no secret lacks all.
func missing(from *corev1.Secret, keys []string) (lost []string) {
	for _, key := range keys {
		if from != nil {
			if _, has := from.Data[key]; has {
				continue
			}
		}
		lost = append(lost, key)
	}
	return lost
}

// reportLost tells that the connection secret lacks what the external system may never tell again: it is what people have to
// see, though all else is well.
func (r *Reconciler) reportLost(ctx context.Context, p *pass) outcome {
	lost, err := r.lostKeys(ctx, p)
	if err != nil {
		return fail(ReasonCannotPublish, fmt.Errorf("looking for what the connection secret lacks: %w", err))
	}
	if len(lost) == 0 {
		return next()
	}
	ref, _ := resource.ConnectionSecretReference(p.managed)
	return reject(ReasonDetailsLost, fmt.Errorf("secret %s/%s lost %s, which was told only when the external resource was created: add "+
		"what is missing to the secret, from a copy of it or after a reset in the external system; to do without, remove annotation %s",
		ref.Namespace, ref.Name, strings.Join(lost, ", "), AnnotationKeyCreatedKeys))
}

// renewLost has a client that chooses credentials itself, and whose Update sets them, choose new ones for those that are lost.
// They are published only after Update: cut off in between, they are chosen anew.
func (r *Reconciler) renewLost(ctx context.Context, p *pass) outcome {
	chooser, chooses := optional[CredentialChooser](p.external)
	_, sets := optional[ConnectionDetailsUser](p.external)
	if !chooses || !sets || !p.observation.ResourceExists || !p.allows(xpv1.ManagementActionUpdate) {
		return next()
	}
	lost, err := r.lostKeys(ctx, p)
	if err != nil {
		return fail(ReasonCannotPublish, fmt.Errorf("looking for what the connection secret lacks: %w", err))
	}
	if len(lost) == 0 {
		return next()
	}
	if o := r.giveInputs(ctx, p); o.end != goOn { // what the user chose is not chosen again
		return o
	}
	stored, err := r.storedDetails(ctx, p)
	if err != nil {
		return fail(ReasonCannotPublish, fmt.Errorf("reading stored credentials: %w", err))
	}
	chosen, err := chooser.ChooseCredentials(ctx, stored)
	if err != nil {
		return fail(ReasonCannotUpdate, fmt.Errorf("choosing credentials in place of lost ones: %w", err))
	}
	maps.DeleteFunc(chosen, func(key string, _ []byte) bool { return !slices.Contains(lost, key) })
	p.renewed = chosen
	return next()
}

// watchSecrets wakes objects whose connection secret goes or loses keys. What a secret held that goes, and the keys of the
// creation that it loses, are kept until they are published again: nobody else may know them.
func (r *Reconciler) watchSecrets(ctx context.Context) error {
	informer, err := r.cache.GetInformer(ctx, &corev1.Secret{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			was, known := before.(*corev1.Secret)
			is, ok := after.(*corev1.Secret)
			if owner := r.ownerOf(was); known && ok && owner != nil && loses(was, is) {
				r.secretLost(ctx, was, is, owner)
			}
		},
		DeleteFunc: func(o any) {
			if last, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			was, _ := o.(*corev1.Secret)
			if owner := r.ownerOf(was); owner != nil {
				r.secretLost(ctx, was, nil, owner)
			}
		},
	})
	return err
}

// loses is true for a change that takes a key, or the secret itself, from its object. Passes only add keys.
func loses(was, is *corev1.Secret) bool {
	return !sameOwner(was, is) || len(missing(is, slices.Collect(maps.Keys(was.Data)))) > 0
}

func sameOwner(was, is *corev1.Secret) bool {
	of, owned := metav1.GetControllerOfNoCopy(was), metav1.GetControllerOfNoCopy(is)
	return owned != nil && owned.UID == of.UID
}

// ownerOf returns the object of our kind that a connection secret belongs to.
func (r *Reconciler) ownerOf(secret *corev1.Secret) *metav1.OwnerReference {
	if secret == nil || secret.Type != xpv1.SecretTypeConnection {
		return nil
	}
	owner := metav1.GetControllerOfNoCopy(secret)
	if owner == nil || owner.Kind != r.kind.Kind || !strings.HasPrefix(owner.APIVersion, r.kind.Group+"/") {
		return nil
	}
	return owner
}

// secretLost keeps what a secret held that its object lost, and wakes the object. is is what became of the secret, nil if it is
// gone. Whoever may write secrets can say that one belongs to an object, so only that which the object names counts.
func (r *Reconciler) secretLost(ctx context.Context, was, is *corev1.Secret, owner *metav1.OwnerReference) {
	for _, key := range []types.NamespacedName{{Name: owner.Name}, {Namespace: was.Namespace, Name: owner.Name}} {
		mg := r.newManaged()
		if err := r.client.Get(ctx, key, mg); err != nil || client.ObjectKeyFromObject(mg) != key {
			continue
		}
		secret := client.ObjectKeyFromObject(was)
		if mg.GetUID() != owner.UID || meta.WasDeleted(mg) || connectionSecret(mg) != secret && publishedTo(mg) != secret {
			continue
		}
		held := ConnectionDetails(was.Data)
		if is != nil && sameOwner(was, is) { // who takes other keys away may do so
			held = maps.Clone(held)
			lost := missing(is, CreatedKeys(mg))
			maps.DeleteFunc(held, func(key string, _ []byte) bool { return !slices.Contains(lost, key) })
		}
		r.memory.keep(mg, held)
		r.WakeNow(key)
	}
}
