// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/catalog"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
)

const maxDNSServers = 8

// Networks answers requests about networks.
type Networks struct {
	*catalog.Catalog[api.Network]
	state   *store.Store
	subnets *Subnets
}

// Create creates a network.
func (n *Networks) Create(project string, in api.CreateNetworkInput) (api.Network, error) {
	created := api.Network{
		CIDRBlock: in.CIDRBlock, Description: *cmp.Or(in.Description, new(string)), DNSServers: slices.Clone(in.DNSServers),
		MTU: *cmp.Or(in.MTU, new(api.DefaultMTU)), Labels: maps.Clone(in.Labels), Status: sdk.StatusAvailable,
	}
	if _, err := parseCIDR(in.CIDRBlock); err != nil {
		return api.Network{}, err
	}
	if err := validateNetwork(created); err != nil {
		return api.Network{}, err
	}
	now := time.Now()
	created.CreatedAt = now.UTC().Truncate(time.Second)
	err := n.state.Write(func(tx *store.Tx) (err error) {
		if created.ID, err = n.NewID(tx, project, "net-"); err != nil {
			return err
		}
		return n.Put(tx, catalog.Record[api.Network]{Project: project, ID: created.ID, CreatedAt: now, Object: created})
	})
	return created, err
}

// Update changes a network.
func (n *Networks) Update(project, id string, in api.UpdateNetworkInput) (api.Network, error) {
	return n.Change(project, id, func(changed *api.Network) error {
		changed.Description = *cmp.Or(in.Description, &changed.Description)
		changed.MTU = *cmp.Or(in.MTU, &changed.MTU)
		changed.DNSServers = *cmp.Or(in.DNSServers, &changed.DNSServers)
		if in.Labels != nil {
			changed.Labels = maps.Clone(in.Labels)
		}
		return validateNetwork(*changed)
	})
}

// Delete deletes a network. It refuses if the network has subnets.
func (n *Networks) Delete(project, id string) (api.Network, error) {
	removed, err := n.Remove(project, id, func(tx *store.Tx, _ api.Network) error {
		subnets, err := n.subnets.of(tx, project, id)
		if err == nil && len(subnets) > 0 {
			return refusal.Conflict("network %q has %d subnets: delete them first", id, len(subnets))
		}
		return err
	})
	removed.Status = sdk.StatusDeleting
	return removed, err
}

// validateNetwork checks the fields that both create and update requests can set.
func validateNetwork(n api.Network) error {
	if err := rules.Text("description", n.Description); err != nil {
		return err
	}
	if n.MTU < api.MinMTU || n.MTU > api.MaxMTU {
		return refusal.Invalid("mtu %d is not valid: it must be %d to %d", n.MTU, api.MinMTU, api.MaxMTU)
	}
	if len(n.DNSServers) > maxDNSServers {
		return refusal.Invalid("dns_servers: %d are too many: use at most %d", len(n.DNSServers), maxDNSServers)
	}
	for _, server := range n.DNSServers {
		if _, err := netip.ParseAddr(server); err != nil {
			return refusal.Invalid("dns_servers: %q is not an IP address", server)
		}
	}
	return rules.Labels(n.Labels)
}

func parseCIDR(block string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(block)
	if err != nil {
		return netip.Prefix{}, refusal.Invalid("cidr_block %q is not valid: use a range of addresses such as \"10.0.0.0/16\"", block)
	}
	if masked := prefix.Masked(); masked.String() != block {
		return netip.Prefix{}, refusal.Invalid("cidr_block %q is not valid: use %q", block, masked)
	}
	return prefix, nil
}
