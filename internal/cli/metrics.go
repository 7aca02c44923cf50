// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/bowline-dev/bowline/pkg/telemetry"
)

// A metricsAddress is the flag that says where metrics are served. One that was chosen has to be free; the default gives way,
// so that a second process on a machine works without a thought about metrics.
type metricsAddress struct {
	address string
	chosen  bool
}

// String implements pflag.Value.
func (a *metricsAddress) String() string { return a.address }

// Type implements pflag.Value.
func (*metricsAddress) Type() string { return "string" }

// Set implements pflag.Value.
func (a *metricsAddress) Set(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil && address != "" {
		return fmt.Errorf("say host:port, such as %s, or nothing: %w", telemetry.DefaultListen, err)
	}
	a.address, a.chosen = address, true
	return nil
}

// serve makes a manager serve the metrics of its process.
func (a *metricsAddress) serve(mgr ctrl.Manager) error {
	server, err := a.listen(mgr.GetLogger())
	if server == nil || err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return errors.Join(fmt.Errorf("adding the server of metrics: %w", err), server.Close())
	}
	return nil
}

// listen takes the address. There is no server where none is wanted, or the default is taken.
func (a *metricsAddress) listen(log logr.Logger) (*telemetry.Server, error) {
	if a.address == "" {
		return nil, nil
	}
	server, err := telemetry.Listen(a.address, metrics.Registry)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && !a.chosen:
		log.Info("Metrics are not served, since another program has the address; choose one with --metrics-listen", "address", a.address)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w (the flag is --metrics-listen)", err)
	}
	log.Info("Metrics are served", "url", "http://"+server.Address()+"/metrics")
	return server, nil
}
