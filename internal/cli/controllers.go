// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/internal/cli/command"
	"github.com/bowline-dev/bowline/internal/cli/logs"
	"github.com/bowline-dev/bowline/internal/cli/plane"
	"github.com/bowline-dev/bowline/pkg/provider"
)

type controllersOptions struct {
	program     Program
	kubeconfig  string
	leaderElect bool
	installCRDs bool
	health      string
	controllers plane.ControllerOptions
	verbosity   logs.Verbosity
}

func newControllersCmd(program Program, std Streams) *cobra.Command {
	o := controllersOptions{program: program, installCRDs: true}
	cmd := &cobra.Command{
		Use:   "controllers",
		Short: "Run all controllers against any Kubernetes API server",
		Long: `Runs the controllers of every provider in the foreground, against any Kubernetes API server. Inside a cluster, omit
--kubeconfig: the pod's service account is used.

Metrics are served for Prometheus; traces are sent by gRPC to OTEL_EXPORTER_OTLP_ENDPOINT if that is set.`,
		Example: `  bowline controllers --kubeconfig ./state/admin.kubeconfig
  bowline controllers --leader-elect --install-crds=false     as a Deployment with several replicas`,
		Args: command.NoArgs,
		RunE: untilSignal(func(ctx context.Context) error { return o.run(ctx, std, logs.New(std.Err, o.verbosity)) }),
	}
	cmd.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the API server (default: the service account of the pod)")
	cmd.Flags().BoolVar(&o.leaderElect, "leader-elect", false, "reconcile only while this process holds the lease that all replicas share")
	cmd.Flags().BoolVar(&o.installCRDs, "install-crds", o.installCRDs, "apply the custom resource definitions at the start")
	cmd.Flags().StringVar(&o.health, "health-listen", "", "host:port that serves /healthz and /readyz (default: none)")
	o.controllers.AddFlags(cmd.Flags())
	o.verbosity.AddFlags(cmd.Flags())
	return cmd
}

func (o controllersOptions) run(ctx context.Context, std Streams, log *logs.Logs) error {
	cfg, err := provider.RESTConfig(o.kubeconfig)
	if err != nil {
		return err
	}
	cfg.UserAgent = plane.ControllersAccount
	cfg.Wrap(o.program.WrapTransport)
	if err := o.controllers.Validate(); err != nil {
		return err
	}
	ctrl.SetLogger(log.Library("controllers")) // controller-runtime warns if it has no logger of its own
	klog.SetLoggerWithOptions(log.Library("client"), klog.ContextualLogger(true))
	if o.installCRDs {
		if err := provider.InstallCRDs(ctx, cfg, log.Controllers(), o.program.Providers...); err != nil {
			return err
		}
	}
	service, err := plane.Controllers(ctx, plane.ControllersConfig{
		ControllerOptions: o.controllers, Providers: o.program.Providers, REST: cfg, Log: log.Controllers(), Version: ownVersion(),
		LeaderElect: o.leaderElect, HealthListen: o.health,
	})
	if err != nil {
		return err
	}
	return plane.RunOne(ctx, service, func() error {
		_, err := fmt.Fprintf(std.Out, "The controllers work against %s\n", cfg.Host)
		return err
	}, nil)
}
