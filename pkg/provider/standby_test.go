// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// A process that stands by watches nothing for the sake of metrics. The test is not parallel, since all share the metrics.
func TestStandbyCountsNothing(t *testing.T) {
	now := metav1.NowMicro()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "leader"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("other"), LeaseDurationSeconds: ptr.To[int32](3600), AcquireTime: &now, RenewTime: &now}}
	env := controlplanetest.New(t, lease)
	var watched atomic.Int32
	rc := fault.Intercept(env.Config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		if strings.Contains(req.URL.Path, "providerconfigs") && strings.Contains(req.URL.Path, depotKinds().Cluster.Group) {
			watched.Add(1)
		}
		return next.RoundTrip(req)
	})
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	options := ctrl.Options{Scheme: scheme, Cache: managed.CacheOptions(), LeaderElection: true, LeaderElectionID: lease.Name,
		LeaderElectionNamespace: env.Namespace, RetryPeriod: ptr.To(100 * time.Millisecond)}
	journal := &clientJournal{}
	controlplanetest.RunManager(t, rc, options, func(mgr ctrl.Manager) error { return newProvider(journal.factory(0)).SetupWithManager(mgr) })

	if counted(t) || watched.Load() > 0 {
		t.Errorf("a process that stands by counts ProviderConfigs, by %d requests", watched.Load())
	}
	if err := env.Client.Delete(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	env.Eventually(t, "the process leads, and counts ProviderConfigs", func(context.Context) error {
		if !counted(t) {
			return errors.New("none are counted")
		}
		return nil
	})
}

// counted is true if the metrics have a series of the ProviderConfigs.
func counted(t *testing.T) bool {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "bowline_provider_configs" && l.GetValue() == "providerconfig."+depotKinds().Cluster.Group {
					return true
				}
			}
		}
	}
	return false
}
