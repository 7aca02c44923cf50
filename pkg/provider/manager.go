// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/internal/election"
	"github.com/bowline-dev/bowline/pkg/internal/idle"
	"github.com/bowline-dev/bowline/pkg/internal/probes"
	"github.com/bowline-dev/bowline/pkg/internal/secretscope"
	"github.com/bowline-dev/bowline/pkg/internal/shard"
	"github.com/bowline-dev/bowline/pkg/internal/watchlog"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

var errNoProvider = errors.New("there is no provider to run")

// A ManagerConfig configures the manager of one or several providers.
type ManagerConfig struct {
	REST           *rest.Config     // the access to the API server. Required.
	Log            logr.Logger      // the logger of all controllers. Default: none.
	LibraryLog     logr.Logger      // the logger of controller-runtime. Default: Log.
	LeaderElect    bool             // run controllers only while this process holds the lease of each of its providers
	LeaseDuration  time.Duration    // after which another process takes over, at least 5 s and the same in all. Default: 15 s.
	HealthListen   string           // the host:port of /healthz and /readyz. Default: none.
	MetricsListen  string           // the host:port of /metrics. Default: none.
	MetricsPort    string           // the port of an earlier start, taken instead of port 0 while it is free
	MetricsGiveWay bool             // run without metrics if MetricsListen is in use
	OnMetrics      func(url string) // called once metrics are served there
	NeedsCRDs      bool             // an administrator installs the definitions: ready only while the API server has them
	// SecretNamespaces are the namespaces of the Secrets that the controllers may use. Default: all.
	SecretNamespaces []string
	// WatchLabelSelector selects the ProviderConfigs that this process reconciles, with the managed resources that use them. What has none,
	// such as claims, is for the process whose selector matches an object without labels. Default: everything.
	WatchLabelSelector string
	Concurrency        int                        // how many objects of each kind are reconciled at once. Default: that of the kind.
	Reconcilers        []managed.ReconcilerOption // options of the reconcilers of all managed kinds, after those of the kinds

	// Used returns a channel that is closed once a kind has objects, before the first one is stored. A kind without is not watched (N83).
	// Default: every kind is watched.
	Used idle.Used

	mayChange fence.Fence // nil for none
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
	options := ctrl.Options{
		Scheme:                 scheme,
		Logger:                 cfg.LibraryLog,
		Metrics:                metricsserver.Options{BindAddress: "0"}, // see telemetry.Server
		HealthProbeBindAddress: cmp.Or(cfg.HealthListen, "0"),           // "0" is none
		Cache:                  managed.CacheOptions(),
		NewCache:               claim.NewCache,
	}
	secrets, err := secretscope.New(context.Background(), config, cfg.SecretNamespaces...)
	if err != nil {
		return nil, err
	}
	secrets.Limit(&options)
	options.Cache.DefaultWatchErrorHandler = (&watchlog.Errors{Log: cfg.Log}).Handle
	options.Controller.CacheSyncTimeout = math.MaxInt64 // a kind whose definition or rights vanish must not end the controllers of others
	mine, err := shard.Parse(cfg.WatchLabelSelector)
	if err != nil {
		return nil, err
	}
	if cfg.LeaderElect {
		leases, err := election.Join(context.Background(), &options, config, cfg.Log,
			cmp.Or(cfg.LeaseDuration, election.DefaultDuration), leaseNames(providers, mine)...)
		if err != nil {
			return nil, err
		}
		cfg.mayChange, cfg.Reconcilers = leases.Fence, append([]managed.ReconcilerOption{managed.WithFence(leases.Fence)}, cfg.Reconcilers...)
	}
	var base ctrl.Manager
	if cfg.Used != nil {
		options.Cache.NewInformer = idle.NewInformer(func() cluster.Cluster { return base }, cfg.Used)
	}
	base, err = ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("creating controller manager: %w", err)
	}
	mgr := ownManager{base, cfg.Log, cfg.Used, secrets.Reader(base.GetAPIReader(), scheme), mine, cfg.Concurrency, cfg.mayChange}
	reconcilers := append([]managed.ReconcilerOption{managed.WithReferences(managed.NewReferences(mgr))}, cfg.Reconcilers...)
	for i, p := range providers {
		setup := func() error { return p.SetupWithManager(mgr, reconcilers...) }
		if cfg.NeedsCRDs {
			err = p.whenDefined(mgr, config, setup)
		} else {
			err = setup()
		}
		if err != nil {
			return nil, errors.Join(err, mistakes(providers[i+1:])) // all mistakes at once
		}
	}
	if err := errors.Join(addTargets(mgr, providers), secrets.AddTo(mgr), probes.Add(mgr)); err != nil {
		return nil, err
	}
	return mgr, telemetry.Server{
		Listen: cfg.MetricsListen, Former: cfg.MetricsPort, GiveWay: cfg.MetricsGiveWay, OnListen: cfg.OnMetrics,
	}.AddTo(mgr)
}

// An ownManager has a logger for our controllers beside that of controller-runtime, which logs each start of a watch.
type ownManager struct {
	ctrl.Manager
	log  logr.Logger
	used idle.Used // nil if it is not known
	live client.Reader
	mine *shard.Shard

	concurrency int         // 0 for that of each kind
	mayChange   fence.Fence // nil for none
}

// GetAPIReader returns a reader without a cache.
func (m ownManager) GetAPIReader() client.Reader { return m.live }

// GetLogger returns the logger of our controllers.
func (m ownManager) GetLogger() logr.Logger { return m.log }

// WhenUsed returns the manager for controllers that have nothing to do before one of the kinds has objects (N83).
func (s *Setup) WhenUsed(kinds ...schema.GroupVersionKind) ctrl.Manager {
	if own, ok := s.mgr.(ownManager); ok && own.used != nil {
		return idle.Manager(own, own.used, kinds...)
	}
	return s.mgr
}

// mine returns what this process reconciles of all objects.
func (s *Setup) mine() *shard.Shard {
	own, _ := s.mgr.(ownManager)
	return own.mine
}

// whenDefined calls setup once the API server has what an administrator installs.
func (p Provider) whenDefined(mgr ctrl.Manager, cfg *rest.Config, setup func() error) error {
	own, err := p.Definitions()
	l, invalid := p.layout()
	if err := errors.Join(err, invalid); err != nil {
		return err
	}
	if err := l.addToScheme(mgr.GetScheme()); err != nil { // it must not change while controllers run
		return err
	}
	return probes.RequireDefinitions(mgr, cfg, p.Name, own, setup)
}

func leaseNames(of []Provider, mine *shard.Shard) []string {
	names := make([]string, 0, len(of))
	for _, p := range of {
		names = append(names, mine.LeaseName(p.LeaseName()))
	}
	return names
}

func mistakes(providers []Provider) error {
	var all []error
	for _, p := range providers {
		all = append(all, p.Validate())
	}
	return errors.Join(all...)
}
