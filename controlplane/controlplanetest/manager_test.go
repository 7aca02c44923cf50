// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

// Busy controllers stop when asked, each time.
func TestRunManager(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for i := range 40 {
		name := fmt.Sprintf("busy-%d", i)
		if err := env.Client.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	mine := manager.Options{Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{env.Namespace: {}}}}
	for round := range 10 {
		var passes atomic.Int64
		busy := reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
			passes.Add(1)
			return reconcile.Result{RequeueAfter: time.Microsecond}, nil
		})
		stop := controlplanetest.RunManager(t, env.Config, mine, func(mgr manager.Manager) error {
			return builder.ControllerManagedBy(mgr).Named("busy").For(&corev1.ConfigMap{}).
				WithOptions(controller.Options{MaxConcurrentReconciles: 20}).Complete(busy)
		})
		env.Eventually(t, "the controller is busy", func(context.Context) error {
			if n := passes.Load(); n < 2000 {
				return fmt.Errorf("%d passes", n)
			}
			return nil
		})
		began := time.Now()
		stop()
		if took := time.Since(began); took > 20*time.Second {
			t.Fatalf("round %d took %v to end", round, took)
		}
	}
}

// A failing is a test that something fails.
type failing struct {
	testing.TB
	errors []string
}

func (f *failing) Error(args ...any) { f.errors = append(f.errors, fmt.Sprint(args...)) }

func (f *failing) Cleanup(func()) {}

// What runs lives until it is stopped, once, and its error fails the test.
func TestRun(t *testing.T) {
	t.Parallel()
	f, began := &failing{TB: t}, make(chan struct{})
	stop := controlplanetest.Run(f, func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		return errors.New("it did not end well")
	})
	<-began
	stop()
	stop()
	if len(f.errors) != 1 || !strings.Contains(f.errors[0], "did not end well") {
		t.Errorf("the test fails with %q", f.errors)
	}
}
