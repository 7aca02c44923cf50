// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// controllersConfig is how the controllers of all providers are to run.
type controllersConfig struct {
	providers    []provider.Provider
	rest         *rest.Config
	log          logr.Logger
	leaderElect  bool
	namespace    string // of the leader's lease
	healthListen string // host:port of /healthz and /readyz; empty for none
	reconcilers  []managed.ReconcilerOption
	metrics      metricsAddress
}

// controllers returns the service that runs every provider's controllers. It is ready when they work, and with leader
// election when this process leads.
func controllers(cfg controllersConfig) (service, error) {
	spans, err := newSpanExport(cfg.log, os.Getenv)
	if err != nil {
		return service{}, err
	}
	mgr, err := provider.NewManager(provider.ManagerConfig{
		REST:           cfg.rest,
		Log:            cfg.log,
		LeaderElect:    cfg.leaderElect,
		LeaseName:      controllersAccount,
		LeaseNamespace: cfg.namespace,
		HealthListen:   cfg.healthListen,
		Reconcilers:    append(spans.options(), cfg.reconcilers...),
	}, cfg.providers...)
	if err != nil {
		return service{}, err
	}
	if err := cfg.metrics.serve(mgr); err != nil {
		return service{}, err
	}
	return service{
		name: "controllers",
		run: func(ctx context.Context) error {
			defer spans.flush(ctx)
			return mgr.Start(ctx)
		},
		ready: mgr.Elected(),
	}, nil
}
