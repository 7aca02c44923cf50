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
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Exit codes of Main.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

const defaultMetricsListen = "127.0.0.1:8081"

// Main is the main function of a program that runs the controllers of providers against any Kubernetes API server until
// SIGINT, SIGTERM or SIGHUP. Its flags are those of bowline controllers; -h tells them. It ends the process: with 0 after a
// signal, 1 after an error and 2 where the command line is wrong.
func Main(providers ...Provider) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args, os.Stderr, providers))
}

// settings of a program.
type settings struct {
	kubeconfig    string
	leaderElect   bool
	installCRDs   bool
	healthListen  string
	metricsListen string
	pollInterval  time.Duration
	verbosity     int
}

// parse reads the command line. Usage and mistakes are written to w.
func parse(args []string, w io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(w)
	flags.StringVar(&s.kubeconfig, "kubeconfig", "", "`file` that names the API server and the identity to use (default: the pod's own)")
	flags.BoolVar(&s.leaderElect, "leader-elect", false, "work only while this process holds the lease that all replicas share")
	flags.BoolVar(&s.installCRDs, "install-crds", true, "apply the custom resource definitions at the start")
	flags.StringVar(&s.healthListen, "health-listen", "", "`host:port` that serves /healthz and /readyz (default: none)")
	flags.StringVar(&s.metricsListen, "metrics-listen", defaultMetricsListen, "`host:port` that serves /metrics; empty for none")
	flags.DurationVar(&s.pollInterval, "poll-interval", time.Minute, "how often each external resource is looked at while nothing changes")
	flags.IntVar(&s.verbosity, "v", 0, "log more: 1 adds what the libraries say, 4 each request")
	if err := flags.Parse(args[1:]); err != nil {
		return s, err // it is written already
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("argument %q is not known: there are only flags, see -h", flags.Arg(0))
	case s.pollInterval < time.Second:
		err = errors.New("--poll-interval must be at least 1s")
	default:
		return s, nil
	}
	fmt.Fprintln(w, err)
	return s, err
}

// run is Main without the process.
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

// serve runs the controllers until the context ends.
func (s settings) serve(ctx context.Context, stderr io.Writer, providers []Provider) error {
	if err := validate(providers); err != nil {
		return err
	}
	cfg, err := restConfig(s.kubeconfig)
	if err != nil {
		return err
	}
	cfg.UserAgent = programName(providers)
	ours, libraries := s.loggers(stderr)
	ctrl.SetLogger(libraries) // controller-runtime warns if it has no logger of its own
	klog.SetLoggerWithOptions(libraries, klog.ContextualLogger(true))
	if s.installCRDs {
		if err := installCRDs(ctx, cfg, ours, providers); err != nil {
			return err
		}
	}
	namespace := ownNamespace()
	if s.leaderElect {
		if err := ensureNamespace(ctx, cfg, namespace); err != nil {
			return err
		}
	}
	mgr, err := NewManager(ManagerConfig{
		REST: cfg, Log: ours,
		LeaderElect: s.leaderElect, LeaseName: programName(providers), LeaseNamespace: namespace,
		HealthListen: s.healthListen, MetricsListen: s.metricsListen,
		Reconcilers: []managed.ReconcilerOption{managed.WithPollInterval(s.pollInterval)},
	}, providers...)
	if err == nil {
		ours.Info("The controllers start", "server", cfg.Host, "metrics", s.metricsListen, "health", s.healthListen)
		err = mgr.Start(ctx)
	}
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: choose another address with --metrics-listen or --health-listen", err)
	}
	return err
}

// programName is how API server, lease and logs know the controllers.
func programName(providers []Provider) string {
	name := "bowline"
	for _, p := range providers {
		name += "-" + p.Name
	}
	return name
}

// loggers returns that of our controllers, which say at the information level what a person should see, and that of
// libraries, which are asked for no more than warnings unless somebody wants to see more.
func (s settings) loggers(w io.Writer) (ours, libraries logr.Logger) {
	handler := func(level slog.Level) logr.Logger {
		return logr.FromSlogHandler(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level}))
	}
	more := slog.LevelInfo - slog.Level(s.verbosity)
	if s.verbosity <= 0 {
		return handler(more), handler(slog.LevelWarn)
	}
	return handler(more), handler(more)
}

// restConfig reads a kubeconfig, or the pod's own identity if there is none.
func restConfig(kubeconfig string) (*rest.Config, error) {
	var (
		cfg *rest.Config
		err error
	)
	if kubeconfig == "" {
		cfg, err = rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("say which API server to use with --kubeconfig FILE")
		}
	} else {
		cfg, err = clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	if err != nil {
		return nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	cfg.QPS = -1 // the API server's own fairness decides; the controllers limit their calls to the outside
	return cfg, nil
}

// installCRDs applies the providers' definitions and tells which of them were left alone.
func installCRDs(ctx context.Context, cfg *rest.Config, log logr.Logger, providers []Provider) error {
	var all []*apiextensionsv1.CustomResourceDefinition
	for _, p := range providers {
		crds, err := p.Definitions()
		if err != nil {
			return err
		}
		all = append(all, crds...)
	}
	report, err := crd.Apply(ctx, cfg, all...)
	for _, skipped := range report.Skipped {
		log.Info("Custom resource definition is left alone", "name", skipped.Name, "reason", skipped.Reason)
	}
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: let somebody else install the definitions and start with --install-crds=false", err)
	}
	return err
}

// ownNamespace is the pod's namespace, or the one that Bowline uses.
func ownNamespace() string {
	content, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if namespace := strings.TrimSpace(string(content)); err == nil && namespace != "" {
		return namespace
	}
	return "bowline-system"
}

// ensureNamespace makes the namespace of the lease. Whoever may not make namespaces has one already.
func ensureNamespace(ctx context.Context, cfg *rest.Config, name string) error {
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("creating client: %w", err)
	}
	err = c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return fmt.Errorf("creating namespace %s for the lease: %w", name, err)
}
