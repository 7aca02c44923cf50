// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// controllersConfig is how the controllers of all providers are to run.
type controllersConfig struct {
	providers    []Provider
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
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return service{}, fmt.Errorf("registering Kubernetes types: %w", err)
	}
	for _, p := range cfg.providers {
		if err := p.AddToScheme(scheme); err != nil {
			return service{}, fmt.Errorf("registering types of provider %s: %w", p.Name, err)
		}
	}
	health := cfg.healthListen
	if health == "" {
		health = "0"
	}
	// The API server warns of the finalizer's form at every creation; its name is a wire contract and stays.
	config := rest.CopyConfig(cfg.rest)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	counters, err := telemetry.NewMetrics(metrics.Registry)
	if err != nil {
		return service{}, err
	}
	config.Wrap(counters.WrapTransport)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Logger:                 cfg.log,
		Metrics:                metricsserver.Options{BindAddress: "0"}, // see metricsAddress
		HealthProbeBindAddress: health,
		LeaderElection:         cfg.leaderElect,
		LeaderElectionID:       controllersAccount,
		// The process ends when the manager does, so the next leader need not wait for the lease to run out.
		LeaderElectionReleaseOnCancel: true,
		LeaderElectionNamespace:       cfg.namespace,
		Cache:                         managed.CacheOptions(),
	})
	if err != nil {
		return service{}, fmt.Errorf("creating controller manager: %w", err)
	}
	spans, err := newSpanExport(cfg.log, os.Getenv)
	if err != nil {
		return service{}, err
	}
	for _, p := range cfg.providers {
		if err := p.SetupWithManager(mgr, append(spans.options(), cfg.reconcilers...)...); err != nil {
			return service{}, fmt.Errorf("setting up provider %s: %w", p.Name, err)
		}
	}
	if err := addHealthChecks(mgr); err != nil {
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

// addHealthChecks makes the probes answer: alive when the process serves, ready when the caches are filled.
func addHealthChecks(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding health check: %w", err)
	}
	err := mgr.AddReadyzCheck("caches", func(request *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(request.Context()) {
			return errors.New("caches are not filled yet")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("adding readiness check: %w", err)
	}
	return nil
}
