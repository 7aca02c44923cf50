// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Binding is a claim's managed resource, and the connection Secrets of both.
type Binding struct {
	// Managed is the managed resource that the claim refers to, and that refers to the claim.
	Managed resource.BindableManaged
	// Source is the Secret of the managed resource.
	Source *corev1.Secret
	// Copy is the Secret of the claim.
	Copy *corev1.Secret
}

// Bound reads the claim again and returns its binding. The error describes in what claim and managed resource do not agree.
func Bound(ctx context.Context, c client.Client, claim resource.Claim) (*Binding, error) {
	if err := c.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return nil, err
	}
	ready, ref := claim.GetCondition(xpv1.TypeReady), claim.GetResourceReference()
	if ready.Status != corev1.ConditionTrue || claim.GetBindingPhase() != xpv1.BindingPhaseBound || ref == nil {
		return nil, fmt.Errorf("claim %s is %q and refers to %v; Ready: %s %s", claim.GetName(), claim.GetBindingPhase(), ref,
			ready.Reason, ready.Message)
	}
	o, err := c.Scheme().New(ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	mg := o.(resource.BindableManaged)
	if err := c.Get(ctx, client.ObjectKey{Name: ref.Name}, mg); err != nil {
		return nil, err
	}
	if of := mg.GetClaimReference(); of == nil || of.UID != claim.GetUID() || mg.GetBindingPhase() != xpv1.BindingPhaseBound {
		return nil, fmt.Errorf("managed resource %s is %q and belongs to %v", mg.GetName(), mg.GetBindingPhase(), of)
	}
	if theirs, ours := meta.GetExternalName(mg), meta.GetExternalName(claim); theirs != ours || ours == "" {
		return nil, fmt.Errorf("external name %q of the managed resource, %q of the claim", theirs, ours)
	}
	return Copied(ctx, c, claim, mg)
}

// Copied returns an error unless the Secret of the claim has the content of that of the managed resource.
func Copied(ctx context.Context, c client.Client, claim resource.Claim, mg resource.BindableManaged) (*Binding, error) {
	from, to := mg.GetWriteConnectionSecretToReference(), claim.GetWriteConnectionSecretToReference()
	if from == nil || to == nil {
		return nil, errors.New("claim or managed resource have no connection Secret")
	}
	b := &Binding{Managed: mg, Source: &corev1.Secret{}, Copy: &corev1.Secret{}}
	if err := errors.Join(
		c.Get(ctx, client.ObjectKey{Namespace: from.Namespace, Name: from.Name}, b.Source),
		c.Get(ctx, client.ObjectKey{Namespace: claim.GetNamespace(), Name: to.Name}, b.Copy),
	); err != nil {
		return nil, err
	}
	if !maps.EqualFunc(b.Source.Data, b.Copy.Data, bytes.Equal) {
		return nil, fmt.Errorf("the Secrets %s/%s and %s/%s differ", b.Source.Namespace, b.Source.Name, b.Copy.Namespace, b.Copy.Name)
	}
	return b, nil
}
