// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// ItemSecretController is as the guides have it.
type ItemSecretController struct{}

func (c *ItemSecretController) SetupWithManager(mgr ctrl.Manager) error {
	p := resource.NewPredicates(resource.AnyOf(
		resource.AllOf(resource.IsControlledByKind(shop.ItemClaimGroupVersionKind), resource.IsPropagated()),
		resource.AllOf(resource.IsControlledByKind(shop.ItemGroupVersionKind), resource.IsPropagator()),
	))

	return ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(fmt.Sprintf("connectionsecret.%s.%s", shop.ItemKind, shop.GroupVersion.Group))).
		Watches(&corev1.Secret{}, &resource.EnqueueRequestForPropagated{}).
		For(&corev1.Secret{}).
		WithEventFilter(p).
		Complete(secret.NewReconciler(mgr))
}

// The long form of the guides serves the Secrets of one claim kind and one managed kind.
func TestGuide(t *testing.T) {
	t.Parallel()
	s := newSecretStage(t)
	item, gadget := &shop.Item{}, &shop.Gadget{}
	item.Name, gadget.Name = s.Prefix+"item", s.Prefix+"gadget"
	claim, other := s.claim("claim", url), &shop.OtherClaim{}
	other.Namespace, other.Name = s.Namespace, "other"
	s.create(item, gadget, claim, other)
	from := s.source("item", map[string]string{"password": "1"}, ownedBy(item, shop.ItemGroupVersionKind))
	foreign := s.source("gadget", map[string]string{"password": "1"}, ownedBy(gadget, shop.GadgetGroupVersionKind))
	to := s.copy("item", ownedBy(claim, shop.ItemClaimGroupVersionKind))
	beside := s.copy("gadget", ownedBy(other, shop.OtherClaimGroupVersionKind))
	s.create(from, foreign, to, beside)
	controlplanetest.RunManager(t, s.access(), s.options(), func(mgr manager.Manager) error {
		return (&ItemSecretController{}).SetupWithManager(mgr)
	})
	s.agree(foreign, beside)
	s.agree(from, to)
	t.Run("secrets of other kinds are not its own (R286)", func(t *testing.T) {
		s.edit(foreign, func() { foreign.Data["password"] = []byte("2") })
		s.edit(beside, func() { beside.Labels = map[string]string{"a": "b"} })
		s.edit(from, func() { from.Data["password"] = []byte("3") }) // had those come through, they would have come first
		s.holds(to, map[string]string{"password": "3", "URL": "redis://:3@h"})
		s.holds(beside, nothing)
		for _, request := range s.take(writes) {
			if request == "PATCH "+s.path(beside) {
				t.Error(request)
			}
		}
	})
}
