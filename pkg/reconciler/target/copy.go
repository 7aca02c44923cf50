// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
)

// copy gives the target its copy of the connection Secret (R297), controlled by the target (R302) and naming its source (R298).
func (r *Reconciler) copy(ctx context.Context, p *pass) outcome {
	key := secretKey(p)
	have, err := r.owner(p).At(ctx, key)
	if err == nil && !isInStep(p, have) {
		if o := r.confirm(ctx, p); o.end != goOn {
			return await(o)
		}
		have, err = r.writeCopy(ctx, p, key, have)
	}
	switch {
	case copies.IsForeign(err):
		if err := r.disown(ctx, p, p.source, key); err != nil {
			return fail(err)
		}
		return refuse(xpv1.ReasonConnecting, err)
	case copies.FullQuota(err) != "":
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("namespace %q has no room for Secret %q: remove what you do not need, or ask who "+
			"manages the namespace to raise its quota %q", key.Namespace, key.Name, copies.FullQuota(err)))
	case err != nil:
		return fail(fmt.Errorf("writing the connection Secret of the target: %w", err))
	}
	p.copy, p.mistaken = have, lost(p, have)
	return next()
}

// agree lets the source say that its content goes on to the copy, and no longer to earlier ones of that name.
func (r *Reconciler) agree(ctx context.Context, p *pass) outcome {
	if !copies.IsFrom(p.copy, p.source) { // it keeps what the source has no more
		return next()
	}
	if copies.Agrees(p.source, p.copy) {
		return next()
	}
	if o := r.confirm(ctx, p); o.end != goOn {
		return await(o)
	}
	if err := copies.Agree(ctx, r.client, p.source, p.copy); err != nil {
		return fail(fmt.Errorf("letting the connection Secret of the managed resource go on to the target's: %w", err))
	}
	return next()
}

// owner is the target as one that has copies.
func (r *Reconciler) owner(p *pass) copies.Owner {
	return copies.Owner{Client: r.client, Live: r.live, Object: p.target, Kind: r.targetKind, Word: "target",
		Field: "spec.connectionSecretRef"}
}

// writeCopy makes the copy in one write that says whose it is and where its content is from. A copy of another source gets the
// new content; that of the same source is left to package secret, unless it cannot be changed: then it is made anew. What only the
// copy still has stays: such a copy goes on to name the source that was lost, so that package secret leaves it alone.
func (r *Reconciler) writeCopy(ctx context.Context, p *pass, key types.NamespacedName, have *corev1.Secret) (*corev1.Secret, error) {
	if have != nil && copies.IsImmutable(have) && !hasContent(p, have) {
		if err := r.owner(p).Remove(ctx, have); err != nil {
			return nil, err
		}
		have = nil
	}
	if have == nil {
		made, err := r.makeCopy(ctx, p, key)
		if err != nil {
			return nil, err
		}
		have = made
	}
	if isInStep(p, have) || copies.IsFrom(have, p.source) {
		return have, nil
	}
	return write(ctx, r, have, func(secret *corev1.Secret) {
		if len(keptKeys(p, have)) == 0 {
			meta.AllowPropagationFrom(secret, p.source)
		}
		secret.Data = content(p, have)
	})
}

// makeCopy returns the copy that it made, or that which is there already.
func (r *Reconciler) makeCopy(ctx context.Context, p *pass, key types.NamespacedName) (*corev1.Secret, error) {
	labels := map[string]string{LabelTargetUID: string(p.target.GetUID())}
	have, made, err := r.owner(p).Make(ctx, key, p.source, p.source.Data, labels)
	if made {
		p.note(ReasonConnected, fmt.Sprintf("Secret %q tells how to connect to managed resource %s %q.", key.Name,
			p.target.GetResourceReference().Kind, p.managed.GetName()))
	}
	return have, err
}

// secretKey is where the copy of a prepared target is.
func secretKey(p *pass) types.NamespacedName {
	return types.NamespacedName{Namespace: p.target.GetNamespace(), Name: p.target.GetWriteConnectionSecretToReference().Name}
}
