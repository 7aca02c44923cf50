// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package testkit is what tests of this module share: a manager whose reconcilers the test calls, recorded events, and waits that
// report why they still wait. Its neighbours below have the rest:
//
//	fault    counts the requests of a process and injects a fault at one of them
//	scenario runs scripts of events with a fault at every request
//	process  starts, kills and stops programs
//	thing    a managed kind with a Go type, and a vendor in memory with knobs for its next error
//	shop     kinds of claims and classes, as the generator completes them
//	kinds    provider configurations and their users, in both scopes
package testkit

import (
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// NewManager returns a manager that is not started, for reconcilers that the test calls. Its client has no cache, so that each
// reconcile sees what the last one wrote.
func NewManager(t testing.TB, config *rest.Config, o manager.Options) manager.Manager {
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
