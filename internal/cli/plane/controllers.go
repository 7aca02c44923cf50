// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// ControllerOptions are the flags of commands that run the controllers of all providers.
type ControllerOptions struct {
	PollInterval time.Duration
	Metrics      MetricsAddress
}

// AddFlags registers the flags.
func (o *ControllerOptions) AddFlags(flags *pflag.FlagSet) {
	flags.DurationVar(&o.PollInterval, "poll-interval", time.Minute, "how often each external resource is polled while nothing changes")
	o.Metrics.Address = telemetry.DefaultListen
	flags.Var(&o.Metrics, "metrics-listen", `host:port that serves metrics to Prometheus at /metrics; port 0 picks a free one, "" is none`)
}

// Validate returns the first mistake in the flags.
func (o *ControllerOptions) Validate() error {
	if o.PollInterval < time.Second {
		return errors.New("--poll-interval must be at least 1s")
	}
	return nil
}

// ControllersConfig configures the controllers of all providers.
type ControllersConfig struct {
	ControllerOptions
	Providers    []provider.Provider
	REST         *rest.Config
	Log          logr.Logger
	Version      string // of this program, for spans
	LeaderElect  bool
	HealthListen string // host:port of /healthz and /readyz; empty for none
}

// Controllers returns the service that runs the controllers of all providers. It is ready when they work, with leader election
// when this process leads.
func Controllers(ctx context.Context, cfg ControllersConfig) (Service, error) {
	spans, err := newSpanExport(cfg.Log, cfg.Version, os.Getenv)
	if err != nil {
		return Service{}, err
	}
	namespace := ""
	if cfg.LeaderElect {
		if namespace, err = provider.LeaseNamespace(ctx, cfg.REST); err != nil {
			return Service{}, err
		}
	}
	mgr, err := provider.NewManager(provider.ManagerConfig{
		REST:           cfg.REST,
		Log:            cfg.Log,
		LeaderElect:    cfg.LeaderElect,
		LeaseName:      ControllersAccount,
		LeaseNamespace: namespace,
		HealthListen:   cfg.HealthListen,
		MetricsListen:  cfg.Metrics.Address,
		MetricsGiveWay: !cfg.Metrics.Chosen,
		Reconcilers:    append(spans.options(), managed.WithPollInterval(cfg.PollInterval)),
	}, cfg.Providers...)
	if err != nil {
		return Service{}, err
	}
	return Service{
		Name: "controllers",
		Run: func(ctx context.Context) error {
			defer spans.flush(ctx)
			return mgr.Start(ctx)
		},
		Ready: mgr.Elected(),
	}, nil
}
