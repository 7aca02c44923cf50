// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/internal/election"
	"github.com/bowline-dev/bowline/pkg/internal/program"
	"github.com/bowline-dev/bowline/pkg/manifests"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
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
	os.Exit(run(ctx, os.Args, os.Stdout, os.Stderr, providers))
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer, providers []Provider) (code int) {
	s, err := program.Parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		return exitUsage
	}
	if s.Print != "" {
		err = printManifests(stdout, s.Print, providers)
	} else {
		err = serve(ctx, s, stderr, providers)
	}
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", args[0], err)
		return exitError
	}
	return exitOK
}

func serve(ctx context.Context, s program.Settings, stderr io.Writer, providers []Provider) error {
	if len(providers) == 0 {
		return errNoProvider
	}
	if err := mistakes(providers); err != nil {
		return err
	}
	cfg, err := RESTConfig(s.Kubeconfig, s.Context)
	if err != nil {
		return err
	}
	cfg.UserAgent = programName(providers)
	ours, libraries := s.Loggers(stderr)
	ctrl.SetLogger(libraries) // controller-runtime warns if it has no logger of its own
	klog.SetLoggerWithOptions(libraries, klog.ContextualLogger(true))
	if s.InstallCRDs {
		if err := InstallCRDs(ctx, cfg, ours, providers...); err != nil {
			return err
		}
	}
	mgr, err := NewManager(ManagerConfig{
		REST: cfg, Log: ours, LibraryLog: libraries,
		LeaderElect: s.LeaderElect, LeaseDuration: s.LeaseDuration, SecretNamespaces: strings.FieldsFunc(s.Secrets, func(r rune) bool { return r == ',' }), NeedsCRDs: !s.InstallCRDs,
		Concurrency: s.Concurrency, WatchLabelSelector: s.Selector, HealthListen: s.HealthListen, MetricsListen: s.MetricsListen, MetricsGiveWay: !s.MetricsChosen,
		Reconcilers: []managed.ReconcilerOption{managed.WithPollInterval(s.PollInterval)},
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

// printManifests writes what an administrator installs in a cluster.
func printManifests(w io.Writer, which string, providers []Provider) error {
	var all []*unstructured.Unstructured
	rules := CommonRules()
	for _, p := range providers {
		own, rulesErr := p.Rules()
		_, err := p.Definitions()
		if err := errors.Join(rulesErr, err); err != nil {
			return err
		}
		definitions, err := crd.Manifests(p.CRDs)
		if err != nil {
			return err
		}
		rules, all = append(rules, own...), append(all, definitions...)
	}
	if which == program.PrintCRDs {
		return manifests.Write(w, all)
	}
	account, err := manifests.Bare(manifests.Account(election.Namespace, programName(providers), rules)...)
	if err != nil {
		return err
	}
	return manifests.Write(w, account)
}
