// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

func TestCacheOptions(t *testing.T) {
	t.Parallel()
	t.Run("every object is looked at each hour (R223)", func(t *testing.T) {
		t.Parallel()
		if period := managed.CacheOptions().SyncPeriod; period == nil || *period != time.Hour {
			t.Errorf("the cache resyncs every %v", period)
		}
	})
}

// A user's request for a look is answered at once, whatever the poll interval.
func TestReconcileRequested(t *testing.T) {
	t.Parallel()
	t.Run("crossplane.io/reconcile-requested-at (N18)", func(t *testing.T) {
		t.Parallel()
		env := controlplanetest.NewWithScheme(t, newScheme(t))
		system := thing.NewSystem()
		mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: env.Prefix + "requested"}}
		mg.Spec.ForProvider.Size = 1
		only := cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, mg.Name)}
		runController(t, env.Config, system, only, managed.WithPollInterval(time.Hour))
		if err := env.Client.Create(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { strike(env, mg.Name) })
		eventually(t, env, mg, "Ready", func() bool { return mg.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonAvailable })
		system.TakeCalls()
		mg.Annotations["crossplane.io/reconcile-requested-at"] = "now"
		if err := env.Client.Update(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
		env.Eventually(t, "a look", func(context.Context) error {
			if system.Called("Observe") == 0 {
				return errors.New("nobody looked")
			}
			return nil
		})
	})
}
