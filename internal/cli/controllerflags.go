// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// controllerFlags change how the controllers of all providers work.
type controllerFlags struct {
	pollInterval time.Duration
	metrics      metricsAddress
}

func (f *controllerFlags) register(flags *pflag.FlagSet) {
	flags.DurationVar(&f.pollInterval, "poll-interval", time.Minute, "how often each external resource is looked at while nothing changes")
	f.metrics.address = telemetry.DefaultListen
	flags.Var(&f.metrics, "metrics-listen", `host:port that serves metrics to Prometheus at /metrics; port 0 picks a free one, "" is none`)
}

// options are given to every reconciler.
func (f *controllerFlags) options() ([]managed.ReconcilerOption, error) {
	if f.pollInterval < time.Second {
		return nil, errors.New("--poll-interval must be at least 1s")
	}
	return []managed.ReconcilerOption{managed.WithPollInterval(f.pollInterval)}, nil
}
