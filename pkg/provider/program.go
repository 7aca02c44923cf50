// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/internal/election"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// Exit codes of Main.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// Main is the main function of a program that runs the controllers of providers against any Kubernetes API server until
// SIGINT, SIGTERM or SIGHUP. Its flags are those of bowline controllers, see -h. It exits with 0 after a signal, 1 after an error
// and 2 if the command line is invalid.
func Main(providers ...Provider) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args, os.Stderr, providers))
}

type settings struct {
	kubeconfig         string
	context            string
	leaderElect        bool
	leaseDuration      time.Duration
	installCRDs        bool
	healthListen       string
	metricsListen      string
	metricsChosen      bool
	pollInterval       time.Duration
	verbosity          int
	logFormat, secrets string // secrets: namespaces, separated by commas
	selector           string
}

// parse reads the command line. It writes usage and mistakes to w.
func parse(args []string, w io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(w)
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "`file` that names the API server and the identity to use (default: $KUBECONFIG, else the pod's own)")
	flags.StringVar(&s.context, "context", "", "`name` of a context of the kubeconfig (default: its current one)")
	flags.BoolVar(&s.leaderElect, "leader-elect", false, "run only while this process holds the leases of its providers, which all replicas share")
	flags.DurationVar(&s.leaseDuration, "leader-elect-lease-duration", election.DefaultDuration,
		"without renewal for so long another process takes over a lease; the same in all replicas")
	flags.BoolVar(&s.installCRDs, "install-crds", true, "apply the custom resource definitions at startup")
	flags.StringVar(&s.healthListen, "health-listen", "", "`host:port` that serves /healthz and /readyz (default: none)")
	flags.StringVar(&s.metricsListen, "metrics-listen", telemetry.DefaultListen,
		"`host:port` that serves /metrics; empty for none; without the flag also none if the default is in use")
	flags.DurationVar(&s.pollInterval, "poll-interval", time.Minute, "how often each external resource is polled while nothing changes")
	flags.StringVar(&s.logFormat, "log-format", "text", "`format` of the log: text, for people, or json")
	flags.StringVar(&s.secrets, "secret-namespaces", "", "`namespaces` of the Secrets that the controllers may use, separated by commas (default: all)")
	flags.StringVar(&s.selector, "watch-label-selector", "",
		"reconcile only the ProviderConfigs that match this label `selector`, and the managed resources that use them; exactly one process must also "+
			"match objects without labels: it serves all that has no ProviderConfig (default: all)")
	flags.IntVar(&s.verbosity, "v", 0, "log `level`: 1 adds messages of libraries, 4 each request")
	if err := flags.Parse(args[1:]); err != nil {
		return s, err // written by Parse
	}
	flags.Visit(func(f *flag.Flag) { s.metricsChosen = s.metricsChosen || f.Name == "metrics-listen" })
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unknown argument %q: there are only flags, see -h", flags.Arg(0))
	case s.pollInterval < time.Second:
		err = errors.New("--poll-interval must be at least 1s")
	case s.logFormat != "text" && s.logFormat != "json":
		err = fmt.Errorf("--log-format must be text or json, not %q", s.logFormat)
	default:
		return s, nil
	}
	fmt.Fprintln(w, err)
	return s, err
}

func run(ctx context.Context, args []string, stderr io.Writer, providers []Provider) (code int) {
	s, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	if err := s.serve(ctx, stderr, providers); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", args[0], err)
		return exitError
	}
	return exitOK
}

func (s settings) serve(ctx context.Context, stderr io.Writer, providers []Provider) error {
	if len(providers) == 0 {
		return errNoProvider
	}
	if err := mistakes(providers); err != nil {
		return err
	}
	cfg, err := RESTConfig(s.kubeconfig, s.context)
	if err != nil {
		return err
	}
	cfg.UserAgent = programName(providers)
	ours, libraries := s.loggers(stderr)
	ctrl.SetLogger(libraries) // controller-runtime warns if it has no logger of its own
	klog.SetLoggerWithOptions(libraries, klog.ContextualLogger(true))
	if s.installCRDs {
		if err := InstallCRDs(ctx, cfg, ours, providers...); err != nil {
			return err
		}
	}
	mgr, err := NewManager(ManagerConfig{
		REST: cfg, Log: ours, LibraryLog: libraries,
		LeaderElect: s.leaderElect, LeaseDuration: s.leaseDuration, SecretNamespaces: strings.FieldsFunc(s.secrets, func(r rune) bool { return r == ',' }), NeedsCRDs: !s.installCRDs,
		WatchLabelSelector: s.selector, HealthListen: s.healthListen, MetricsListen: s.metricsListen, MetricsGiveWay: !s.metricsChosen,
		Reconcilers: []managed.ReconcilerOption{managed.WithPollInterval(s.pollInterval)},
	}, providers...)
	if err == nil {
		ours.Info("Starting controllers", "server", cfg.Host)
		err = mgr.Start(ctx)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: choose another address with --metrics-listen or --health-listen", err)
	}
	return err
}

// programName identifies the controllers in the API server and logs.
func programName(providers []Provider) string {
	name := "bowline"
	for _, p := range providers {
		name += "-" + p.Name
	}
	return name
}

// loggers returns the logger of our controllers, at level info, and that of libraries, at level warning unless -v is set.
func (s settings) loggers(w io.Writer) (ours, libraries logr.Logger) {
	handler := func(level slog.Level) logr.Logger {
		o := &slog.HandlerOptions{Level: level}
		if s.logFormat == "json" {
			return logr.FromSlogHandler(slog.NewJSONHandler(w, o))
		}
		return logr.FromSlogHandler(slog.NewTextHandler(w, o))
	}
	more := slog.LevelInfo - slog.Level(s.verbosity)
	if s.verbosity <= 0 {
		return handler(more), handler(slog.LevelWarn)
	}
	return handler(more), handler(more)
}
