// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
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
	namespace := ownNamespace()
	if cfg.LeaderElect {
		if err := ensureNamespace(ctx, cfg.REST, namespace); err != nil {
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
		Reconcilers:    append(spans.options(), managed.WithPollInterval(cfg.PollInterval)),
	}, cfg.Providers...)
	if err != nil {
		return Service{}, err
	}
	if err := cfg.Metrics.serve(mgr); err != nil {
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

// ownNamespace is the pod's namespace, or that of bowline up.
func ownNamespace() string {
	content, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if namespace := strings.TrimSpace(string(content)); err == nil && namespace != "" {
		return namespace
	}
	return SystemNamespace
}

// ensureNamespace creates the namespace of the lease. A process without the right to create namespaces runs in an existing one.
func ensureNamespace(ctx context.Context, cfg *rest.Config, name string) error {
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("creating client: %w", err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err = c.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{FieldManager: FieldManager})
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return fmt.Errorf("creating namespace %s for the lease: %w", name, err)
}
