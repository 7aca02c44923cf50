// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package witness

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// ByHand returns a manager that does not run, for a reconciler that the test calls: its client has no cache, so that each pass
// sees what the last one wrote.
func ByHand(t testing.TB, config *rest.Config, o manager.Options) manager.Manager {
	t.Helper()
	o.Metrics.BindAddress = "0"
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	o.NewClient = func(config *rest.Config, o client.Options) (client.Client, error) {
		o.Cache = nil
		return client.New(config, o)
	}
	mgr, err := manager.New(config, o)
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}
