// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/cli/personas"
)

const (
	// QuotaName is the name of the ResourceQuota of claims and targets in the namespace of a team.
	QuotaName = "bowline-claims"
	// DefaultClaims of each kind are what a team may have in each namespace. A test compares it with the limits of the example classes.
	DefaultClaims = 4

	quotaTimeout = 30 * time.Second
)

// ensureQuota limits the claims and targets of each kind in a namespace, so that one team cannot use up what all share. Without a number
// in the request it adds kinds that the quota lacks, with DefaultClaims, for roles that write claims; numbers that exist stay.
func (a *Accounts) ensureQuota(ctx context.Context, namespace string, r Request) error {
	if r.Claims == nil && r.Role == "view" {
		return nil
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: QuotaName}}
	err := a.client.Get(ctx, client.ObjectKeyFromObject(quota), quota)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading resource quota %s/%s: %w", namespace, QuotaName, err)
	}
	before, exists := quota.DeepCopy(), err == nil
	kinds, err := a.limitedKinds(ctx)
	if err != nil {
		return err
	}
	quota.Spec.Hard = limits(kinds, r.Claims, quota.Spec.Hard)
	switch {
	case equality.Semantic.DeepEqual(before.Spec.Hard, quota.Spec.Hard):
	case len(quota.Spec.Hard) == 0:
		err = client.IgnoreNotFound(a.client.Delete(ctx, quota))
	case exists:
		err = a.client.Patch(ctx, quota, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	default:
		err = a.client.Create(ctx, quota)
	}
	if err != nil {
		return fmt.Errorf("writing resource quota %s/%s: %w", namespace, QuotaName, err)
	}
	return a.awaitQuota(ctx, quota, kinds)
}

// awaitQuota waits until the objects are counted that a quota limits: until then the server refuses all of them. What an administrator
// added to the quota may be of kinds that the server does not have, and never counts.
func (a *Accounts) awaitQuota(ctx context.Context, quota *corev1.ResourceQuota, kinds []corev1.ResourceName) error {
	var waiting []corev1.ResourceName
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, quotaTimeout, true, func(ctx context.Context) (bool, error) {
		err := a.client.Get(ctx, client.ObjectKeyFromObject(quota), quota)
		waiting = slices.DeleteFunc(slices.Clone(kinds), func(kind corev1.ResourceName) bool {
			limit, limited := quota.Spec.Hard[kind]
			known, written := quota.Status.Hard[kind]
			_, counted := quota.Status.Used[kind]
			return !limited || written && counted && limit.Equal(known)
		})
		return err != nil || len(waiting) == 0, client.IgnoreNotFound(err)
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("the server has not counted %v of resource quota %s/%s for %v, and refuses these objects until it has: repeat the "+
			"command, and if that does not help, delete the quota before", waiting, quota.Namespace, QuotaName, quotaTimeout)
	}
	if err != nil {
		return fmt.Errorf("waiting until the server counts what resource quota %s/%s limits: %w", quota.Namespace, QuotaName, err)
	}
	return nil
}

// limitedKinds returns the names by which quotas count the kinds that teams write.
func (a *Accounts) limitedKinds(ctx context.Context) (kinds []corev1.ResourceName, err error) {
	var definitions apiextensionsv1.CustomResourceDefinitionList
	if err := a.client.List(ctx, &definitions); err != nil {
		return nil, fmt.Errorf("listing custom resource definitions: %w", err)
	}
	for _, d := range definitions.Items {
		if personas.WrittenByTeams(&d) {
			kinds = append(kinds, corev1.ResourceName("count/"+d.Name))
		}
	}
	return kinds, nil
}

// limits returns the limits of a quota, with one for each of the kinds.
func limits(kinds []corev1.ResourceName, claims *int64, have corev1.ResourceList) corev1.ResourceList {
	limits := have.DeepCopy()
	if limits == nil {
		limits = corev1.ResourceList{}
	}
	for _, kind := range kinds {
		_, known := limits[kind]
		switch {
		case claims != nil && *claims == 0:
			delete(limits, kind)
		case claims != nil:
			limits[kind] = *resource.NewQuantity(*claims, resource.DecimalSI)
		case !known:
			limits[kind] = *resource.NewQuantity(DefaultClaims, resource.DecimalSI)
		}
	}
	return limits
}
