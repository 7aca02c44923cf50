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

// Run runs something, such as a server or a manager that is made already, until the test ends or somebody calls stop, which
// returns when it has ended. Objects that are created after it is started are removed while it still runs. An error that it
// ends with fails the test.
func Run(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	_, stop = begin(t, run)
	return stop
}

// RunManager makes a manager, lets setup add controllers to it, and runs it as Run does. It returns when the caches are
// filled. What options leave open is set as tests need it: no metrics, no log, no warnings of the API server, names of
// controllers that other managers of the process have too, and queues without priorities, since controller-runtime 0.24 may
// hang for half a minute where a busy one with priorities is shut down.
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
		t.Fatalf("controlplanetest: making manager: %v", err)
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

// begin is Run that also returns how long it runs.
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
