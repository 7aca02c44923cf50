// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package records has the services whose resources are records only and ready at once: networks, subnets and node groups. The
// cloud chooses the names of networks and subnets and ignores idempotency keys for them: only labels find one whose answer was
// lost.
package records

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"net/netip"
	"slices"
	"strings"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/service"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
)

const maxDNSServers = 8

// Services are the services for networks, subnets and node groups.
type Services struct {
	Networks   *service.Service[network.Network, network.CreateNetworkInput, network.UpdateNetworkInput]
	Subnets    *service.Service[subnet.Subnet, subnet.CreateSubnetInput, subnet.UpdateSubnetInput]
	NodeGroups *NodeGroups
}

// New returns the services.
func New(env service.Environment) *Services {
	s := &Services{}
	s.Networks = service.New(env, service.Kind[network.Network, network.CreateNetworkInput, network.UpdateNetworkInput]{
		Noun: "network", New: newNetwork, Update: updateNetwork, Release: s.releaseNetwork,
		Show: func(r service.Record[network.Network]) any {
			shown := r.Spec
			shown.ID, shown.Labels, shown.Status, shown.CreatedAt = r.Name, r.Labels, r.Status, r.CreatedAt
			return shown
		},
	})
	s.Subnets = service.New(env, service.Kind[subnet.Subnet, subnet.CreateSubnetInput, subnet.UpdateSubnetInput]{
		Noun: "subnet", New: newSubnet, Place: s.placeSubnet, Release: s.releaseSubnet,
		Update: func(r *service.Record[subnet.Subnet], in subnet.UpdateSubnetInput) error {
			r.SetLabels(in.Labels)
			return nil
		},
		Show: func(r service.Record[subnet.Subnet]) any {
			shown := r.Spec
			shown.ID, shown.Labels, shown.Status, shown.CreatedAt = r.Name, r.Labels, r.Status, r.CreatedAt
			return shown
		},
	})
	s.NodeGroups = &NodeGroups{service.New(env, service.Kind[group, nodegroup.CreateNodeGroupInput, nodegroup.UpdateNodeGroupInput]{
		Noun: "node group", New: newGroup, Place: s.placeGroup, Update: updateGroup,
		Show: func(r service.Record[group]) any {
			shown := r.Spec.NodeGroup
			shown.Name, shown.Labels, shown.Status, shown.CreatedAt = r.Name, r.Labels, r.Status, r.CreatedAt
			return shown
		},
	})}
	return s
}

// newID returns an id that consists of the prefix and a random part.
func newID(prefix string) string {
	random := make([]byte, 5)
	rand.Read(random) // never fails
	return prefix + hex.EncodeToString(random)
}

func newNetwork(in network.CreateNetworkInput) (r service.Record[network.Network], err error) {
	r.Name, r.Labels = newID("net-"), in.Labels
	r.Spec = network.Network{
		CIDRBlock: in.CIDRBlock, Description: *cmp.Or(in.Description, new(string)), DNSServers: in.DNSServers,
		MTU: *cmp.Or(in.MTU, new(network.DefaultMTU)),
	}
	if _, err := parseCIDR(in.CIDRBlock); err != nil {
		return r, err
	}
	return r, validateNetwork(r.Spec)
}

func updateNetwork(r *service.Record[network.Network], in network.UpdateNetworkInput) error {
	r.Spec.Description = *cmp.Or(in.Description, &r.Spec.Description)
	r.Spec.MTU = *cmp.Or(in.MTU, &r.Spec.MTU)
	r.Spec.DNSServers = *cmp.Or(in.DNSServers, &r.Spec.DNSServers)
	r.SetLabels(in.Labels)
	return validateNetwork(r.Spec)
}

// validateNetwork checks the fields that both create and update requests can set.
func validateNetwork(n network.Network) error {
	if err := refusal.Text("description", n.Description); err != nil {
		return err
	}
	if n.MTU < network.MinMTU || n.MTU > network.MaxMTU {
		return refusal.Invalid("mtu %d is not valid: it must be %d to %d", n.MTU, network.MinMTU, network.MaxMTU)
	}
	if len(n.DNSServers) > maxDNSServers {
		return refusal.Invalid("dns_servers: %d are too many: use at most %d", len(n.DNSServers), maxDNSServers)
	}
	for _, server := range n.DNSServers {
		if _, err := netip.ParseAddr(server); err != nil {
			return refusal.Invalid("dns_servers: %q is not an IP address", server)
		}
	}
	return nil
}

func (s *Services) releaseNetwork(tx *store.Tx, r service.Record[network.Network]) error {
	subnets, err := s.subnetsOf(tx, r.Project, r.Name)
	if err == nil && len(subnets) > 0 {
		return refusal.Conflict("network %q has %d subnets: delete them first", r.Name, len(subnets))
	}
	return err
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

func newSubnet(in subnet.CreateSubnetInput) (r service.Record[subnet.Subnet], err error) {
	r.Name, r.Labels = newID("sub-"), in.Labels
	r.Spec = subnet.Subnet{NetworkID: in.NetworkID, CIDRBlock: in.CIDRBlock, Zone: *cmp.Or(in.Zone, new(string))}
	if _, err := parseCIDR(in.CIDRBlock); err != nil {
		return r, err
	}
	if in.Zone != nil && !slices.Contains(subnet.Zones(), *in.Zone) {
		return r, refusal.Invalid("zone %q does not exist: this cloud has %s", *in.Zone, strings.Join(subnet.Zones(), ", "))
	}
	return r, nil
}

// placeSubnet refuses a range of addresses that is not free in the network, and chooses the zone if the request did not.
func (s *Services) placeSubnet(tx *store.Tx, r *service.Record[subnet.Subnet]) error {
	id := r.Spec.NetworkID
	network, err := s.Networks.Records.Get(tx, r.Project, id)
	if errors.Is(err, store.ErrNotFound) {
		return refusal.Invalid("network_id: network %q does not exist in project %q", id, r.Project)
	}
	if err != nil {
		return err
	}
	whole, wholeErr := parseCIDR(network.Spec.CIDRBlock)
	block, blockErr := parseCIDR(r.Spec.CIDRBlock)
	siblings, err := s.subnetsOf(tx, r.Project, id)
	if err := errors.Join(wholeErr, blockErr, err); err != nil {
		return err
	}
	if !whole.Contains(block.Addr()) || block.Bits() < whole.Bits() {
		return refusal.Invalid("cidr_block %q is not inside %s of network %q", block, whole, id)
	}
	for _, other := range siblings {
		if taken, err := parseCIDR(other.Spec.CIDRBlock); err != nil {
			return err
		} else if taken.Overlaps(block) {
			return refusal.Conflict("cidr_block %q overlaps %s of subnet %q", block, taken, other.Name)
		}
	}
	r.Spec.Zone = cmp.Or(r.Spec.Zone, subnet.Zones()[len(siblings)%len(subnet.Zones())])
	return nil
}

func (s *Services) subnetsOf(tx *store.Tx, project, networkID string) ([]service.Record[subnet.Subnet], error) {
	subnets, err := s.Subnets.Records.List(tx, project)
	return slices.DeleteFunc(subnets, func(r service.Record[subnet.Subnet]) bool { return r.Spec.NetworkID != networkID }), err
}

func (s *Services) releaseSubnet(tx *store.Tx, r service.Record[subnet.Subnet]) error {
	groups, err := s.NodeGroups.Records.List(tx, r.Project)
	users := 0
	for _, g := range groups {
		if slices.Contains(g.Spec.SubnetIDs, r.Name) {
			users++
		}
	}
	if err == nil && users > 0 {
		return refusal.Conflict("subnet %q is used by %d node groups: delete them first", r.Name, users)
	}
	return err
}

func (s *Services) placeGroup(tx *store.Tx, r *service.Record[group]) error {
	for _, id := range r.Spec.SubnetIDs {
		_, err := s.Subnets.Records.Get(tx, r.Project, id)
		if errors.Is(err, store.ErrNotFound) {
			return refusal.Invalid("subnet_ids: subnet %q does not exist in project %q", id, r.Project)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
