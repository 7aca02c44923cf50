// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package program has the command line and the loggers of a provider's program.
package program

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/bowline-dev/bowline/pkg/internal/election"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// What --print writes.
const (
	PrintCRDs = "crds"
	PrintRBAC = "rbac"
)

// Settings are what the command line chooses.
type Settings struct {
	Kubeconfig    string
	Context       string
	LeaderElect   bool
	LeaseDuration time.Duration
	InstallCRDs   bool
	HealthListen  string
	MetricsListen string
	MetricsChosen bool
	PollInterval  time.Duration
	Verbosity     int
	LogFormat     string
	Secrets       string // namespaces, separated by commas
	Selector      string
	Concurrency   int
	Print         string // PrintCRDs, PrintRBAC, or empty to run
}

// Parse reads the command line. It writes usage and mistakes to w.
func Parse(args []string, w io.Writer) (Settings, error) {
	var s Settings
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(w)
	flags.StringVar(&s.Kubeconfig, "kubeconfig", "", "`file` that names the API server and the identity to use (default: $KUBECONFIG, else the pod's own)")
	flags.StringVar(&s.Context, "context", "", "`name` of a context of the kubeconfig (default: its current one)")
	flags.BoolVar(&s.LeaderElect, "leader-elect", false, "run only while this process holds the leases of its providers, which all replicas share")
	flags.DurationVar(&s.LeaseDuration, "leader-elect-lease-duration", election.DefaultDuration,
		"without renewal for so long another process takes over a lease; the same in all replicas")
	flags.BoolVar(&s.InstallCRDs, "install-crds", true, "apply the custom resource definitions at startup")
	flags.StringVar(&s.HealthListen, "health-listen", "", "`host:port` that serves /healthz and /readyz (default: none)")
	flags.StringVar(&s.MetricsListen, "metrics-listen", telemetry.DefaultListen,
		"`host:port` that serves /metrics; empty for none; without the flag also none if the default is in use")
	flags.DurationVar(&s.PollInterval, "poll-interval", time.Minute, "how often each external resource is polled while nothing changes")
	flags.StringVar(&s.LogFormat, "log-format", "text", "`format` of the log: text, for people, or json")
	flags.StringVar(&s.Secrets, "secret-namespaces", "", "`namespaces` of the Secrets that the controllers may use, separated by commas (default: all)")
	flags.StringVar(&s.Selector, "watch-label-selector", "",
		"reconcile only the ProviderConfigs that match this label `selector`, and the managed resources that use them; exactly one process must also "+
			"match objects without labels: it serves all that has no ProviderConfig (default: all)")
	flags.IntVar(&s.Concurrency, "concurrency", 0, "how many objects of each kind are reconciled at once (default: that of the kind, usually 32)")
	flags.StringVar(&s.Print, "print", "", "write `what` a cluster needs, as YAML for kubectl apply --server-side, and end: crds, the custom resource "+
		"definitions, or rbac, the account of this program with its rights, which do not include installing crds")
	flags.IntVar(&s.Verbosity, "v", 0, "log `level`: 1 adds messages of libraries, 4 each request")
	if err := flags.Parse(args[1:]); err != nil {
		return s, err // written by Parse
	}
	flags.Visit(func(f *flag.Flag) { s.MetricsChosen = s.MetricsChosen || f.Name == "metrics-listen" })
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("unknown argument %q: there are only flags, see -h", flags.Arg(0))
	case s.PollInterval < time.Second:
		err = errors.New("--poll-interval must be at least 1s")
	case s.Concurrency < 0:
		err = errors.New("--concurrency must be at least 1")
	case s.Print != "" && s.Print != PrintCRDs && s.Print != PrintRBAC:
		err = fmt.Errorf("--print must be crds or rbac, not %q", s.Print)
	case s.LogFormat != "text" && s.LogFormat != "json":
		err = fmt.Errorf("--log-format must be text or json, not %q", s.LogFormat)
	default:
		return s, nil
	}
	fmt.Fprintln(w, err)
	return s, err
}
