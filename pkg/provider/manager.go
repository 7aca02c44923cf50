// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

var errNoProvider = errors.New("there is no provider to run")

// A ManagerConfig configures the manager of one or several providers.
type ManagerConfig struct {
	REST                      *rest.Config               // the access to the API server. Required.
	Log                       logr.Logger                // the logger of all controllers. Default: none.
	LibraryLog                logr.Logger                // the logger of controller-runtime. Default: Log.
	LeaderElect               bool                       // run controllers only while this process holds the lease
	LeaseName, LeaseNamespace string                     // identify the lease. Required with LeaderElect.
	HealthListen              string                     // the host:port of /healthz and /readyz. Default: none.
	MetricsListen             string                     // the host:port of /metrics. Default: none.
	MetricsGiveWay            bool                       // run without metrics if MetricsListen is in use
	OnMetrics                 func(url string)           // called once metrics are served there
	Reconcilers               []managed.ReconcilerOption // options of the reconcilers of all managed kinds, after those of the kinds
}

// NewManager returns a manager with all controllers of the providers. Objects are deleted in the order of their references, across
// providers too. The manager listens on the addresses of probes and metrics from now on. Install the definitions of all kinds
// before it starts, see InstallCRDs.
func NewManager(cfg ManagerConfig, providers ...Provider) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering Kubernetes types: %w", err)
	}
	if len(providers) == 0 {
		return nil, errNoProvider
	}
	if cfg.Log.GetSink() == nil {
		cfg.Log = logr.Discard()
	}
	if cfg.LibraryLog.GetSink() == nil {
		cfg.LibraryLog = cfg.Log
	}
	// The API server warns of the form of our finalizer at every creation. Its name is part of the contract.
	config := rest.CopyConfig(cfg.REST)
	config.WarningHandlerWithContext = rest.NoWarnings{}
	counters, err := telemetry.NewMetrics(metrics.Registry)
	if err != nil {
		return nil, err
	}
	config.Wrap(counters.WrapTransport)
	cacheOptions := managed.CacheOptions()
	cacheOptions.DefaultWatchErrorHandler = (&watchErrors{log: cfg.Log}).handle
	base, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                 scheme,
		Logger:                 cfg.LibraryLog,
		Metrics:                metricsserver.Options{BindAddress: "0"}, // see serveMetrics
		HealthProbeBindAddress: cmp.Or(cfg.HealthListen, "0"),           // "0" is none
		LeaderElection:         cfg.LeaderElect,
		LeaderElectionID:       cfg.LeaseName,
		// The process ends with the manager, so the next leader need not wait until the lease expires.
		LeaderElectionReleaseOnCancel: true,
		LeaderElectionNamespace:       cfg.LeaseNamespace,
		Cache:                         cacheOptions,
		NewCache:                      claim.NewCache,
	})
	if err != nil {
		return nil, fmt.Errorf("creating controller manager: %w", err)
	}
	mgr := loggingManager{base, cfg.Log}
	options := append([]managed.ReconcilerOption{managed.WithReferences(managed.NewReferences(mgr))}, cfg.Reconcilers...)
	for i, p := range providers {
		if err := p.SetupWithManager(mgr, options...); err != nil {
			return nil, errors.Join(err, mistakes(providers[i+1:])) // all mistakes at once
		}
	}
	if err := addHealthChecks(mgr); err != nil {
		return nil, err
	}
	return mgr, cfg.serveMetrics(mgr)
}

// A loggingManager has a logger for our controllers beside that of controller-runtime, which logs each start of a watch.
type loggingManager struct {
	ctrl.Manager
	log logr.Logger
}

// GetLogger returns the logger of our controllers.
func (m loggingManager) GetLogger() logr.Logger { return m.log }

func mistakes(providers []Provider) error {
	var all []error
	for _, p := range providers {
		all = append(all, p.Validate())
	}
	return errors.Join(all...)
}

// serveMetrics adds a server of metrics to the manager, unless none is wanted or another program has the address.
func (c ManagerConfig) serveMetrics(mgr ctrl.Manager) error {
	listener, err := c.listenMetrics(mgr.GetLogger())
	if listener == nil || err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	patience := 5 * time.Second
	server := &http.Server{Handler: mux, ReadHeaderTimeout: patience}
	return mgr.Add(&manager.Server{Name: "metrics", Server: server, Listener: listener, ShutdownTimeout: &patience})
}

func (c ManagerConfig) listenMetrics(log logr.Logger) (net.Listener, error) {
	if c.MetricsListen == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", c.MetricsListen)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && c.MetricsGiveWay:
		log.Info("Metrics are not served: the address is taken; choose one with --metrics-listen", "address", c.MetricsListen)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("serving metrics: %w (the flag is --metrics-listen)", err)
	}
	url := "http://" + listener.Addr().String() + "/metrics"
	log.Info("Metrics are served", "url", url)
	if c.OnMetrics != nil {
		c.OnMetrics(url)
	}
	return listener, nil
}

// addHealthChecks adds the probes: alive when the process serves, ready when the caches are synced.
func addHealthChecks(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding health check: %w", err)
	}
	err := mgr.AddReadyzCheck("caches", func(request *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(request.Context()) {
			return errors.New("caches are not synced yet")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("adding readiness check: %w", err)
	}
	return nil
}
