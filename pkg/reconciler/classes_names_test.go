// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
)

// A manager that checks names refuses a second controller of a name that one of ours has.
func TestNames(t *testing.T) {
	t.Parallel()
	mgr, err := manager.New(controlplanetest.Config(t), manager.Options{
		Scheme: scheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.New(log.NullLogSink{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Run("the names of all controllers differ (R15, R5)", func(t *testing.T) {
		if err := everything(mgr); err != nil {
			t.Error(err)
		}
	})
	for name, of := range map[string]string{
		"scheduler (R10, N21)":       "scheduler.itemclaim.item.shop.test.bowline.dev",
		"other scheduler (R10, N21)": "scheduler.itemclaim.gadget.shop.test.bowline.dev",
		"defaulter (R11, N21)":       "defaulter.itemclaim.item.shop.test.bowline.dev",
		"other defaulter (R11, N21)": "defaulter.itemclaim.gadget.shop.test.bowline.dev",
		"core controller (N10, N21)": "claim.itemclaim.shop.test.bowline.dev",
	} {
		t.Run(name, func(t *testing.T) {
			err := ctrl.NewControllerManagedBy(mgr).Named(of).For(&shop.ItemClaim{}).Complete(&claimscheduling.Reconciler{})
			if err == nil || !strings.Contains(err.Error(), of) {
				t.Errorf("another controller may be called %s: %v", of, err)
			}
		})
	}
}
