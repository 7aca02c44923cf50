// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest

import (
	"context"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Run runs a function, such as a server, until the test ends or stop is called, which returns when the function has returned. Objects
// that are created after Run are deleted while it still runs. An error of the function fails the test.
func Run(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	_, stop = begin(t, run)
	return stop
}

// RunManager creates a manager, calls setup to add controllers, and runs it as Run does. It returns when the caches are synced.
// Defaults for tests: no metrics, no log, no warnings of the API server, no unique names of controllers, and queues without
// priorities, since shutting down a busy priority queue of controller-runtime 0.24 may take half a minute.
func RunManager(t testing.TB, config *rest.Config, o manager.Options, setup func(manager.Manager) error) (stop func()) {
	t.Helper()
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	if o.Metrics.BindAddress == "" {
		o.Metrics.BindAddress = "0"
	}
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	if o.Controller.SkipNameValidation == nil {
		o.Controller.SkipNameValidation = new(true)
	}
	if o.Controller.UsePriorityQueue == nil {
		o.Controller.UsePriorityQueue = new(false)
	}
	mgr, err := manager.New(config, o)
	if err != nil {
		t.Fatalf("controlplanetest: creating manager: %v", err)
	}
	if err := setup(mgr); err != nil {
		t.Fatalf("controlplanetest: setting up manager: %v", err)
	}
	life, stop := begin(t, mgr.Start)
	if !mgr.GetCache().WaitForCacheSync(life) {
		t.Fatal("controlplanetest: the manager ended before its caches were filled")
	}
	return stop
}

// begin is Run, and returns the context of the function.
func begin(t testing.TB, run func(context.Context) error) (life context.Context, stop func()) {
	life, end := context.WithCancel(context.Background()) // the test's own ends before its clean-up
	ended := make(chan error, 1)
	go func() {
		defer end()
		ended <- run(life)
	}()
	stop = sync.OnceFunc(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return life, stop
}
