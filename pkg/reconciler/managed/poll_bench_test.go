// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/trace"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// BenchmarkSettledPass is a poll that finds nothing changed, as almost all passes do: it reads from the cache and asks the
// external system once.
func BenchmarkSettledPass(b *testing.B) {
	for name, o := range map[string][]managed.ReconcilerOption{
		"metrics":           nil,
		"metrics and spans": {managed.WithTracerProvider(trace.NewTracerProvider())},
	} {
		b.Run(name, func(b *testing.B) {
			f := newFleet(b)
			r, _ := f.control(b, append(o, managed.WithPollInterval(time.Hour))...)
			mg := f.add("settled", func(mg *thing.Thing) {
				mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: f.env.Namespace, Name: "settled"}
			})
			waitFor(b, f.env, mg, "Ready", available)
			req := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(mg)}
			pass := func() time.Duration {
				r.Wake(req)
				result, err := r.Reconcile(b.Context(), req)
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
				f.system.TakeCalls()
			}
		})
	}
}
