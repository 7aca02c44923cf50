// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/test/inspect"
)

var errNeedsHuman = errors.New("the object needs manual intervention after an interrupted create")

// check returns what is wrong when the controllers are idle, or did not become idle for the reason why.
func (t *attempt) check(ctx context.Context, why error) (found []inspect.Violation, err error) {
	switch {
	case errors.Is(why, errNeedsHuman):
		found = append(found, inspect.Violation{Class: inspect.NeedsHuman, What: why.Error()})
	case why != nil:
		found = append(found, inspect.Violation{Class: inspect.Stuck, What: fmt.Sprintf("after %s: %v", patience, why)})
	}
	objects, objectsErr := listed[resource.Managed](ctx, t.site)
	all, allErr := t.site.external(ctx)
	claims, claimsErr := listed[resource.Claim](ctx, t.site)
	if err := errors.Join(objectsErr, allErr, claimsErr); err != nil {
		return nil, err
	}
	found = append(found, inspect.Violations(claims, objects, all)...)
	if t.operation.empty {
		return found, nil
	}
	switch err := t.opens(ctx); {
	case err != nil && !t.reported:
		found = append(found, inspect.Violation{Class: inspect.CredentialsLost, What: err.Error()})
	case err == nil && t.reported:
		found = append(found, inspect.Violation{Class: inspect.NeedsHuman, What: "the object reports a loss, although the connection Secret is complete"})
	}
	return found, nil
}

// opens returns nil if the object's connection Secret, if it has one, opens the real server. A server may take a while to restart
// after a change, or to set a new password, which the Secret contains from the moment at which the cloud accepted it.
func (t *attempt) opens(ctx context.Context) error {
	if _, wanted := resource.ConnectionSecretReference(t.object); !wanted {
		return nil
	}
	if t.kind.things != nil {
		return t.opensThing(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	return testkit.Poll(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		secret, err := t.secret(ctx)
		if err != nil {
			return err
		}
		if t.password != "" && string(secret.Data[xpv1.ResourceCredentialsSecretPasswordKey]) != t.password {
			return errors.New("the connection Secret does not contain the last password of the user")
		}
		if err := t.kind.opens(ctx, secret.Data); err != nil || t.claim == nil {
			return err
		}
		// The Secret of a deleted claim is deleted too.
		_, err = inspect.Copied(ctx, t.site.client, t.claim, t.object.(resource.BindableManaged))
		return client.IgnoreNotFound(err)
	})
}

// opensThing returns nil if the connection Secret contains the password of the Thing.
func (t *attempt) opensThing(ctx context.Context) error {
	secret, err := t.secret(ctx)
	for _, have := range t.site.things.Snapshot() {
		if err == nil && have.Owner == t.object.GetUID() && have.Password == string(secret.Data[xpv1.ResourceCredentialsSecretPasswordKey]) {
			return nil
		}
	}
	return cmp.Or(err, errors.New("the connection Secret lacks the password that the create returned"))
}

// fresh returns an object as the API server has it.
func fresh[T client.Object](ctx context.Context, t *attempt, o T) (T, error) {
	empty := reflect.New(reflect.TypeOf(o).Elem()).Interface().(T)
	return empty, t.site.client.Get(ctx, client.ObjectKeyFromObject(o), empty)
}

// settled returns nil if all objects are healthy, and the claim, if there is one, is bound to one of them.
func (t *attempt) settled(ctx context.Context) error {
	if t.claim != nil {
		if err := t.bound(ctx); err != nil {
			return err
		}
	}
	return t.healthy(ctx)
}

// healthy returns nil if all objects are Ready as declared, and the external resource is as the object declares.
func (t *attempt) healthy(ctx context.Context) error {
	objects, err := listed[resource.Managed](ctx, t.site)
	if err != nil {
		return err
	}
	t.reported = false
	for _, o := range objects {
		err := isReady(o)
		if err == errNeedsHuman && t.kind.things != nil && t.operation.creates && t.process.Reached() {
			t.reported = true
			return inspect.Reported(ctx, t.site.client, o)
		}
		if err != nil {
			return err
		}
	}
	if t.object, err = fresh(ctx, t, t.object); err != nil {
		return err
	}
	all, err := t.site.external(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(e inspect.External) bool {
		return e.Owner == t.object.GetUID() && !e.Deleting && e.Setting == t.setting
	}) {
		return nil
	}
	return fmt.Errorf("the object is Ready and Synced, but has no external resource with %q: %v", t.setting, all)
}

// rotated returns nil if all is settled, the connection Secret has new credentials, and the former ones have ended.
func (t *attempt) rotated(ctx context.Context) error {
	if err := t.settled(ctx); err != nil {
		return err
	}
	secret, err := t.secret(ctx)
	if err != nil {
		return err
	}
	if len(connection.Pending(secret)) > 0 || t.kind.opens(ctx, t.former.Data) == nil {
		return fmt.Errorf("the credentials are those of %s, others are pending, or the former ones work", meta.GetCredentialsRotatedAt(secret))
	}
	return nil
}

// secret returns the connection Secret of the object.
func (t *attempt) secret(ctx context.Context) (*corev1.Secret, error) {
	ref, _ := resource.ConnectionSecretReference(t.object)
	secret := &corev1.Secret{}
	return secret, t.site.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret)
}

func isReady(o resource.Managed) error {
	if failure.IsLeak(xpv1.FailureOf(o).Reason) {
		return errNeedsHuman
	}
	return testkit.IsSettled(o)
}

// notSynced returns nil once the object is not Synced.
func (t *attempt) notSynced(ctx context.Context) error {
	o, err := fresh(ctx, t, t.object)
	if err == nil && o.GetCondition(xpv1.TypeSynced).Status != corev1.ConditionFalse {
		err = errors.New("the object is Synced")
	}
	return err
}

// protected returns nil if all is settled, and the provider configuration and its Secret cannot be deleted before the object.
func (t *attempt) protected(ctx context.Context) error {
	held := 0
	for _, o := range t.site.configurations() {
		o, err := fresh(ctx, t, o)
		if err != nil {
			return err
		}
		config, counts := o.(resource.ProviderConfig)
		if len(o.GetFinalizers()) > 0 && (!counts || config.GetUsers() == 1) {
			held++
		}
	}
	if held != 2 {
		return fmt.Errorf("%d of a provider configuration and its Secret are protected", held)
	}
	return t.settled(ctx)
}

// configsDeleted returns nil if all objects, and then the provider configurations, are deleted.
func (t *attempt) configsDeleted(ctx context.Context) error {
	for _, o := range t.site.configurations() {
		if left, err := fresh(ctx, t, o); !apierrors.IsNotFound(err) {
			return errors.Join(t.allDeleted(ctx), fmt.Errorf("%T %s: %v, finalizers %v", o, o.GetName(), err, left.GetFinalizers()))
		}
	}
	return t.allDeleted(ctx)
}

// allDeleted returns nil if all objects, and the claim, are deleted.
func (t *attempt) allDeleted(ctx context.Context) error {
	objects, err := listed[resource.Managed](ctx, t.site)
	for _, o := range objects {
		if isReady(o) == errNeedsHuman {
			return errNeedsHuman
		}
		synced := o.GetCondition(xpv1.TypeSynced)
		err = errors.Join(err, fmt.Errorf("%s is not deleted; Synced: %s %s", o.GetName(), synced.Reason, synced.Message))
	}
	if err == nil && t.claim != nil {
		err = t.claimDeleted(ctx)
	}
	return err
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
	claim, err := fresh(ctx, t, t.claim)
	if err != nil {
		return err
	}
	if ref := claim.GetClassReference(); ref == nil || ref.Name != t.site.namespace+"-a" {
		return fmt.Errorf("the claim has class %v; %w", ref, waiting(claim, ""))
	}
	if ref := claim.GetResourceReference(); ref != nil {
		return fmt.Errorf("the claim has managed resource %s", ref.Name)
	}
	return waiting(claim, xpv1.ReasonLimitReached)
}

// createStarted returns nil once the cloud creates an external resource for the claim.
func (t *attempt) createStarted(ctx context.Context) error {
	all, err := t.site.external(ctx)
	if err == nil && len(all) == 0 {
		err = errors.New("the cloud creates nothing for the claim")
	}
	return err
}

// bound returns nil if the claim is bound to the only managed resource, the object from then on, and their Secrets agree.
func (t *attempt) bound(ctx context.Context) error {
	claim, err := fresh(ctx, t, t.claim)
	if err != nil {
		return err
	}
	b, err := inspect.Bound(ctx, t.site.client, claim)
	if err != nil {
		return err
	}
	t.claim, t.object = claim, b.Managed
	all, err := listed[resource.Managed](ctx, t.site)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("there are %d managed resources", len(all))
	}
	return errors.Join(err, t.counted(ctx))
}

// counted returns nil if the class counts exactly the claims with a managed resource of it.
func (t *attempt) counted(ctx context.Context) error {
	class, err := fresh(ctx, t, t.site.object(t.kind.class, "a", ""))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	all, err := listed[resource.Claim](ctx, t.site)
	return errors.Join(err, inspect.Counted(class.(resource.Class), all))
}

// contested returns nil if one of several claims is bound to the object, and the others are not allowed to.
func (t *attempt) contested(ctx context.Context) error {
	all, err := listed[resource.Claim](ctx, t.site)
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
	claim, err := fresh(ctx, t, t.claim)
	if !apierrors.IsNotFound(err) {
		ready := claim.GetCondition(xpv1.TypeReady)
		return fmt.Errorf("the claim is not deleted: %v, finalizers %v, Ready: %s %s", err, claim.GetFinalizers(), ready.Reason, ready.Message)
	}
	key := client.ObjectKey{Namespace: t.site.namespace, Name: t.claim.GetWriteConnectionSecretToReference().Name}
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
	o, err := fresh(ctx, t, t.object)
	source, sourceErr := t.secret(ctx)
	if err := errors.Join(err, sourceErr); err != nil {
		return err
	}
	mg := o.(resource.BindableManaged)
	of := mg.GetClaimReference()
	if mg.GetBindingPhase() != xpv1.BindingPhaseReleased || of == nil || of.UID != t.claim.GetUID() || len(meta.PropagatesTo(source)) > 0 {
		return fmt.Errorf("managed resource %s is %q, names %v, and its Secret is copied to %v", mg.GetName(), mg.GetBindingPhase(), of,
			meta.PropagatesTo(source))
	}
	return t.healthy(ctx)
}
