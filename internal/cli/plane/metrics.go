// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"fmt"
	"net"

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
