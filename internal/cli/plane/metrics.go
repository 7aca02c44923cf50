// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

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

// A MetricsAddress is the flag --metrics-listen. If the default address is taken, metrics are not served, so that a second process
// on a machine works without further flags; a chosen address that is taken is an error.
type MetricsAddress struct {
	Address string
	Chosen  bool
}

// String implements pflag.Value.
func (a *MetricsAddress) String() string { return a.Address }

// Type implements pflag.Value.
func (*MetricsAddress) Type() string { return "string" }

// Set implements pflag.Value.
func (a *MetricsAddress) Set(address string) error {
	if _, _, err := net.SplitHostPort(address); err != nil && address != "" {
		return fmt.Errorf("give host:port, such as %s, or an empty string for none: %w", telemetry.DefaultListen, err)
	}
	a.Address, a.Chosen = address, true
	return nil
}

// serve makes a manager serve the metrics of its process.
func (a *MetricsAddress) serve(mgr ctrl.Manager) error {
	server, err := a.listen(mgr.GetLogger())
	if server == nil || err != nil {
		return err
	}
	if err := mgr.Add(server); err != nil {
		return errors.Join(fmt.Errorf("adding the metrics server: %w", err), server.Close())
	}
	return nil
}

// listen returns nil if no metrics are wanted, or if the default address is taken.
func (a *MetricsAddress) listen(log logr.Logger) (*telemetry.Server, error) {
	if a.Address == "" {
		return nil, nil
	}
	server, err := telemetry.Listen(a.Address, metrics.Registry)
	switch {
	case errors.Is(err, syscall.EADDRINUSE) && !a.Chosen:
		log.Info("Metrics are not served: the address is taken; choose one with --metrics-listen", "address", a.Address)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w (the flag is --metrics-listen)", err)
	}
	log.Info("Metrics are served", "url", "http://"+server.Address()+"/metrics")
	return server, nil
}
