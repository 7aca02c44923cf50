// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimdefaulting"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/shop"
	"github.com/bowline-dev/bowline/pkg/resource"
)

type ItemClaimSchedulingController struct{}

// SetupWithManager instantiates a new controller using a
// claimscheduling.Reconciler configured to reconcile ItemClaims
// by scheduling them to ItemClasses.
func (c *ItemClaimSchedulingController) SetupWithManager(mgr ctrl.Manager) error {
	name := strings.ToLower(fmt.Sprintf("scheduler.%s.%s.%s",
		shop.ItemClaimKind,
		shop.ItemKind,
		shop.Group))

	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&shop.ItemClaim{}).
		WithEventFilter(resource.NewPredicates(resource.AllOf(
			// Claims must supply a class selector to be scheduled. Claims that
			// do not supply a class selector use a default resource class, if
			// one exists.
			resource.HasClassSelector(),

			// Claims with a class reference have either already been scheduled
			// to a resource class, or specified one explicitly.
			resource.HasNoClassReference(),

			// Claims with a managed resource reference are either already bound
			// to a managed resource, or are requesting to be bound to an
			// existing managed resource.
			resource.HasNoManagedResourceReference(),
		))).
		Complete(claimscheduling.NewReconciler(mgr,
			resource.ClaimKind(shop.ItemClaimGroupVersionKind),
			resource.ClassKind(shop.ItemClassGroupVersionKind),
		))
}

type ItemClaimDefaultingController struct{}

// SetupWithManager instantiates a new controller using a
// claimdefaulting.Reconciler configured to reconcile ItemClaims
// by defaulting them to ItemClasses.
func (c *ItemClaimDefaultingController) SetupWithManager(mgr ctrl.Manager) error {
	name := strings.ToLower(fmt.Sprintf("defaulter.%s.%s.%s",
		shop.ItemClaimKind,
		shop.ItemKind,
		shop.Group))

	return ctrl.NewControllerManagedBy(mgr).
		Named(name).
		For(&shop.ItemClaim{}).
		WithEventFilter(resource.NewPredicates(resource.AllOf(
			// Claims with a class selector desire scheduling to a matching
			// resource class, and are not subject to defaulting.
			resource.HasNoClassSelector(),

			// Claims with a class reference have either already been scheduled
			// to a resource class, or specified one explicitly.
			resource.HasNoClassReference(),

			// Claims with a managed resource reference are either already bound
			// to a managed resource, or are requesting to be bound to an
			// existing managed resource.
			resource.HasNoManagedResourceReference(),
		))).
		Complete(claimdefaulting.NewReconciler(mgr,
			resource.ClaimKind(shop.ItemClaimGroupVersionKind),
			resource.ClassKind(shop.ItemClassGroupVersionKind),
		))
}

// The long form of the documents, as they print it apart from their defects.
func TestAsTheGuidesDoIt(t *testing.T) {
	t.Parallel()
	t.Run("A60 A61 a class that is there, or comes later", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.create(labelled(s.item("labelled"), labels.Set{"size": "small"}))
		s.start(func(mgr manager.Manager) error {
			return errors.Join((&ItemClaimSchedulingController{}).SetupWithManager(mgr), (&ItemClaimDefaultingController{}).SetupWithManager(mgr))
		})
		selecting, silent := s.claim("selecting", labels.Set{"size": "small"}), s.claim("silent", nil)
		s.create(selecting, silent, byDefault(s.item("default"), "true"))
		s.env.Eventually(t, "R237 it is scheduled", s.gets(selecting, s.of(shop.ItemClassGroupVersionKind, "labelled")))
		s.env.Eventually(t, "R248 it gets the default", s.gets(silent, s.of(shop.ItemClassGroupVersionKind, "default")))
	})
	t.Run("R240 R249 without wake-ups claims are looked at again by time", func(t *testing.T) {
		t.Parallel()
		s := newStage(t)
		s.start(func(mgr manager.Manager) error {
			looked := claimscheduling.NewReconciler(mgr, itemClaims, itemClass, claimscheduling.WithPollInterval(50*time.Millisecond))
			return ctrl.NewControllerManagedBy(mgr).For(&shop.ItemClaim{}).Complete(looked)
		})
		c := s.claim("early", labels.Set{"size": "small"})
		s.create(c, labelled(s.item("late"), labels.Set{"size": "small"}))
		s.env.Eventually(t, "it is scheduled", s.gets(c, s.of(shop.ItemClassGroupVersionKind, "late")))
	})
}

// A manager that checks names refuses a second controller of a name that one of ours has.
func TestNames(t *testing.T) {
	t.Parallel()
	mgr, err := manager.New(controlplanetest.Config(t), manager.Options{
		Scheme: newScheme(t), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.New(log.NullLogSink{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("R15 R5 the names of all controllers differ", func(t *testing.T) {
		if err := everything(mgr); err != nil {
			t.Error(err)
		}
	})
	for name, of := range map[string]string{
		"R10 N21 scheduler":       "scheduler.itemclaim.item.shop.test.bowline.dev",
		"R10 N21 other scheduler": "scheduler.itemclaim.gadget.shop.test.bowline.dev",
		"R11 N21 defaulter":       "defaulter.itemclaim.item.shop.test.bowline.dev",
		"R11 N21 other defaulter": "defaulter.itemclaim.gadget.shop.test.bowline.dev",
		"N10 N21 core controller": "claim.itemclaim.shop.test.bowline.dev",
	} {
		t.Run(name, func(t *testing.T) {
			err := ctrl.NewControllerManagedBy(mgr).Named(of).For(&shop.ItemClaim{}).Complete(&claimscheduling.Reconciler{})
			if err == nil || !strings.Contains(err.Error(), of) {
				t.Errorf("another controller may be called %s: %v", of, err)
			}
		})
	}
}
