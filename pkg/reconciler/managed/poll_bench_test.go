// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/sdk/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// BenchmarkSettledPass is a poll that finds nothing changed, as almost all passes do: it reads from the cache and asks the
// external system once.
func BenchmarkSettledPass(b *testing.B) {
	b.Run("metrics", func(b *testing.B) { benchmarkSettledPass(b) })
	b.Run("metrics and spans", func(b *testing.B) {
		benchmarkSettledPass(b, managed.WithTracerProvider(trace.NewTracerProvider()))
	})
}

func benchmarkSettledPass(b *testing.B, o ...managed.ReconcilerOption) {
	b.Helper()
	env := controlplanetest.NewWithScheme(b, scheme())
	mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: env.Prefix + "settled"}}
	mg.Spec.ForProvider.Size = 1
	mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: env.Namespace, Name: "settled"}
	if err := env.Client.Create(b.Context(), mg); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { strike(env, mg) })
	options := managed.CacheOptions()
	options.ByObject[&thing.Thing{}] = cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, mg.Name)}
	mgr, err := manager.New(env.Config, manager.Options{
		Scheme: scheme(), Cache: options, Metrics: metricsserver.Options{BindAddress: "0"}, Logger: logr.Discard(),
	})
	if err != nil {
		b.Fatal(err)
	}
	system := thing.NewSystem()
	r := managed.NewReconciler(mgr, resource.ManagedKind(thing.GroupVersionKind),
		append(o, managed.WithTypedExternalConnecter[*thing.Thing](system))...)
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() { stopped <- mgr.Start(ctx) }()
	b.Cleanup(func() { cancel(); <-stopped })
	<-mgr.Elected()
	req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)}
	pass := func() time.Duration {
		r.Wake(req)
		result, err := r.Reconcile(ctx, req)
		if err != nil {
			b.Fatal(err)
		}
		return result.RequeueAfter
	}
	for pass() < 30*time.Second { // not settled, or the cache does not show yet that it is
	}
	b.ReportAllocs()
	for b.Loop() {
		pass()
		system.TakeCalls()
	}
}
