// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/test/inspect"
)

// reread returns an object as the API server has it.
func reread[T client.Object](ctx context.Context, t *attempt, o T) (T, error) {
	gvk, err := t.site.client.GroupVersionKindFor(o)
	if err != nil {
		return o, err
	}
	empty, err := t.site.client.Scheme().New(gvk)
	if err != nil {
		return o, err
	}
	fresh := empty.(T)
	return fresh, t.site.client.Get(ctx, client.ObjectKeyFromObject(o), fresh)
}

// waiting returns nil if a claim is unbound for that reason.
func waiting(claim resource.Claim, reason xpv1.ConditionReason) error {
	ready := claim.GetCondition(xpv1.TypeReady)
	if ready.Reason != reason || claim.GetBindingPhase() != xpv1.BindingPhaseUnbound {
		return fmt.Errorf("claim %s is %q; Ready: %s %s", claim.GetName(), claim.GetBindingPhase(), ready.Reason, ready.Message)
	}
	return nil
}

// chosen returns nil if the claim has the first of its classes, and no managed resource.
func (t *attempt) chosen(ctx context.Context) error {
	claim, err := reread(ctx, t, t.claim)
	if err != nil {
		return err
	}
	if ref := claim.GetClassReference(); ref == nil || ref.Name != t.newClass("a").GetName() {
		return fmt.Errorf("the claim has class %v; %w", ref, waiting(claim, ""))
	}
	if ref := claim.GetResourceReference(); ref != nil {
		return fmt.Errorf("the claim has managed resource %s", ref.Name)
	}
	return waiting(claim, xpv1.ReasonLimitReached)
}

// createStarted returns nil once the cloud creates an external resource for the claim.
func (t *attempt) createStarted(ctx context.Context) error {
	all, err := t.site.project.all(ctx)
	if err == nil && len(all) == 0 {
		err = errors.New("the cloud creates nothing for the claim")
	}
	return err
}

// bound returns nil if the claim is ready and bound to the only managed resource, and their Secrets agree. The managed resource is
// the object from then on.
func (t *attempt) bound(ctx context.Context) error {
	claim, err := reread(ctx, t, t.claim)
	if err != nil {
		return err
	}
	b, err := inspect.Bound(ctx, t.site.client, claim)
	if err != nil {
		return err
	}
	if synced := claim.GetCondition(xpv1.TypeSynced); synced.Status != corev1.ConditionTrue {
		return fmt.Errorf("claim %s: Synced: %s %s", claim.GetName(), synced.Reason, synced.Message)
	}
	t.claim, t.object = claim, b.Managed
	all, err := t.site.objects(ctx)
	if err != nil {
		return err
	}
	if len(all) != 1 {
		return fmt.Errorf("there are %d managed resources", len(all))
	}
	return errors.Join(t.copied(ctx), t.counted(ctx))
}

// copied returns nil if the Secret of the claim has the content of that of the object, and both refer to each other.
func (t *attempt) copied(ctx context.Context) error {
	b, err := inspect.Copied(ctx, t.site.client, t.claim, t.object.(resource.BindableManaged))
	switch {
	case err != nil:
		return err
	case !meta.PropagationAllowed(b.Source, b.Copy):
		return errors.New("the Secret of the managed resource may not be copied to that of the claim")
	case !metav1.IsControlledBy(b.Copy, t.claim) || len(meta.PropagatesTo(b.Source)) != 1:
		return fmt.Errorf("the Secret of the claim is owned by %v, and the other one is copied to %v", b.Copy.OwnerReferences,
			meta.PropagatesTo(b.Source))
	}
	return nil
}

// counted returns nil if the class counts exactly the claims with a managed resource of it.
func (t *attempt) counted(ctx context.Context) error {
	class, err := reread(ctx, t, t.newClass("a"))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	entries := map[types.UID]any{}
	if text := class.GetAnnotations()[claimbinding.AnnotationKeyClaims]; text != "" {
		if err := json.Unmarshal([]byte(text), &entries); err != nil {
			return err
		}
	}
	all, err := t.site.claims(ctx)
	if err != nil {
		return err
	}
	for _, claim := range all {
		if claim.GetClassReference() == nil || claim.GetResourceReference() == nil {
			continue
		}
		if _, counts := entries[claim.GetUID()]; !counts {
			return fmt.Errorf("the class does not count claim %s", claim.GetName())
		}
		delete(entries, claim.GetUID())
	}
	if len(entries) > 0 {
		return fmt.Errorf("the class counts claims without a managed resource of it: %v", slices.Collect(maps.Keys(entries)))
	}
	return nil
}

// contested returns nil if one of several claims is bound to the object, and the others are not allowed to.
func (t *attempt) contested(ctx context.Context) error {
	all, err := t.site.claims(ctx)
	if err != nil {
		return err
	}
	winners := 0
	for _, claim := range all {
		if claim.GetBindingPhase() == xpv1.BindingPhaseBound {
			winners++
			t.claim = claim
		} else if err := waiting(claim, xpv1.ReasonNotAllowed); err != nil {
			return err
		}
	}
	if winners != 1 {
		return fmt.Errorf("%d of %d claims are bound", winners, len(all))
	}
	return t.settled(ctx)
}

// claimDeleted returns nil if the claim and its Secret are deleted.
func (t *attempt) claimDeleted(ctx context.Context) error {
	claim, err := reread(ctx, t, t.claim)
	if !apierrors.IsNotFound(err) {
		ready := claim.GetCondition(xpv1.TypeReady)
		return fmt.Errorf("the claim is not deleted: %v, finalizers %v, Ready: %s %s", err, claim.GetFinalizers(), ready.Reason, ready.Message)
	}
	key := client.ObjectKey{Namespace: t.site.namespace, Name: claimSecret}
	if err := t.site.client.Get(ctx, key, &corev1.Secret{}); !apierrors.IsNotFound(err) {
		return fmt.Errorf("the Secret of the claim is not deleted: %w", err)
	}
	return nil
}

// reclaimed returns nil if all is deleted, and the class counts no claim without a managed resource.
func (t *attempt) reclaimed(ctx context.Context) error {
	if err := t.allDeleted(ctx); err != nil {
		return err
	}
	return t.counted(ctx)
}

// released returns nil if the claim is deleted, and its managed resource is released and healthy.
func (t *attempt) released(ctx context.Context) error {
	if err := errors.Join(t.claimDeleted(ctx), t.counted(ctx)); err != nil {
		return err
	}
	mg := t.object.(resource.BindableManaged)
	ref, _ := resource.ConnectionSecretReference(mg)
	source := &corev1.Secret{}
	if err := t.site.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, source); err != nil {
		return err
	}
	mg, err := reread(ctx, t, mg)
	if err != nil {
		return err
	}
	of := mg.GetClaimReference()
	if mg.GetBindingPhase() != xpv1.BindingPhaseReleased || of == nil || of.UID != t.claim.GetUID() || len(meta.PropagatesTo(source)) > 0 {
		return fmt.Errorf("managed resource %s is %q, names %v, and its Secret is copied to %v", mg.GetName(), mg.GetBindingPhase(), of,
			meta.PropagatesTo(source))
	}
	return t.healthy(ctx)
}

// bindings finds managed resources of deleted claims or of several claims, and claims with several managed resources.
func bindings(claims []resource.Claim, objects []resource.Managed) (found []violation) {
	has, users := map[types.UID]int{}, map[string][]string{}
	for _, claim := range claims {
		has[claim.GetUID()] = 0
		if ref := claim.GetResourceReference(); ref != nil && claim.GetBindingPhase() == xpv1.BindingPhaseBound {
			users[ref.Name] = append(users[ref.Name], claim.GetName())
		}
	}
	for _, o := range objects {
		mg, bindable := o.(resource.BindableManaged)
		if !bindable || mg.GetClaimReference() == nil {
			continue
		}
		of := mg.GetClaimReference()
		n, known := has[of.UID]
		switch {
		case !known && mg.GetBindingPhase() != xpv1.BindingPhaseReleased:
			found = append(found, violation{leaked, fmt.Sprintf("%s, %q, of the deleted claim %s", mg.GetName(), mg.GetBindingPhase(), of.Name)})
		case n > 0:
			found = append(found, violation{duplicated, fmt.Sprintf("%s, of claim %s, too", mg.GetName(), of.Name)})
		}
		if known {
			has[of.UID]++
		}
	}
	for name, all := range users {
		if len(all) > 1 {
			found = append(found, violation{boundTwice, fmt.Sprintf("%s, to claims %v", name, all)})
		}
	}
	return found
}
