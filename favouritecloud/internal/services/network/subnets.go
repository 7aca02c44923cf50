// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package network

import (
	"cmp"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/catalog"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	networkapi "github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
)

// Subnets answers requests about subnets.
type Subnets struct {
	*catalog.Catalog[api.Subnet]
	state    *store.Store
	networks *Networks
	users    UserCount
}

// UserCount returns how many objects use a subnet.
type UserCount func(tx *store.Tx, project, subnetID string) (int, error)

// New returns the services for networks and subnets.
func New(state *store.Store) (*Networks, *Subnets) {
	networks := catalog.New(state, "network", func(n networkapi.Network) map[string]string { return n.Labels })
	subnets := catalog.New(state, "subnet", func(s api.Subnet) map[string]string { return s.Labels })
	n, s := &Networks{Catalog: networks, state: state}, &Subnets{Catalog: subnets, state: state}
	n.subnets, s.networks = s, n
	return n, s
}

// SetUsers sets the function that counts the users of a subnet: it cannot be deleted while it has any. Call SetUsers before the
// first request.
func (s *Subnets) SetUsers(users UserCount) { s.users = users }

// Exists reports whether a project has a subnet.
func (s *Subnets) Exists(tx *store.Tx, project, id string) (bool, error) {
	_, err := s.Read(tx, project, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Create creates a subnet.
func (s *Subnets) Create(project string, in api.CreateSubnetInput) (api.Subnet, error) {
	block, err := parseCIDR(in.CIDRBlock)
	if err != nil {
		return api.Subnet{}, err
	}
	if err := validateZone(in.Zone); err != nil {
		return api.Subnet{}, err
	}
	if err := rules.Labels(in.Labels); err != nil {
		return api.Subnet{}, err
	}
	now := time.Now()
	created := api.Subnet{
		NetworkID: in.NetworkID, CIDRBlock: in.CIDRBlock, Labels: maps.Clone(in.Labels), Status: sdk.StatusAvailable,
		CreatedAt: now.UTC().Truncate(time.Second),
	}
	err = s.state.Write(func(tx *store.Tx) error {
		siblings, err := s.place(tx, project, in.NetworkID, block)
		if err != nil {
			return err
		}
		created.Zone = *cmp.Or(in.Zone, &api.Zones()[siblings%len(api.Zones())])
		if created.ID, err = s.NewID(tx, project, "sub-"); err != nil {
			return err
		}
		return s.Put(tx, catalog.Record[api.Subnet]{Project: project, ID: created.ID, CreatedAt: now, Object: created})
	})
	return created, err
}

// place refuses a range of addresses that is not free in the network, and returns the number of its subnets.
func (s *Subnets) place(tx *store.Tx, project, networkID string, block netip.Prefix) (siblings int, err error) {
	network, err := s.networks.Read(tx, project, networkID)
	if errors.Is(err, store.ErrNotFound) {
		return 0, refusal.Invalid("network_id: network %q does not exist in project %q", networkID, project)
	}
	if err != nil {
		return 0, err
	}
	whole, err := parseCIDR(network.CIDRBlock)
	if err != nil {
		return 0, err
	}
	if !whole.Contains(block.Addr()) || block.Bits() < whole.Bits() {
		return 0, refusal.Invalid("cidr_block %q is not inside %s of network %q", block, whole, networkID)
	}
	others, err := s.of(tx, project, networkID)
	for _, other := range others {
		if taken, err := parseCIDR(other.CIDRBlock); err != nil {
			return 0, err
		} else if taken.Overlaps(block) {
			return 0, refusal.Conflict("cidr_block %q overlaps %s of subnet %q", block, taken, other.ID)
		}
	}
	return len(others), err
}

// of returns the subnets of a network.
func (s *Subnets) of(tx *store.Tx, project, networkID string) (subnets []api.Subnet, err error) {
	records, err := s.All(tx, project)
	for _, r := range records {
		if r.Object.NetworkID == networkID {
			subnets = append(subnets, r.Object)
		}
	}
	return subnets, err
}

// Update changes a subnet.
func (s *Subnets) Update(project, id string, in api.UpdateSubnetInput) (api.Subnet, error) {
	return s.Change(project, id, func(changed *api.Subnet) error {
		if in.Labels != nil {
			changed.Labels = maps.Clone(in.Labels)
		}
		return rules.Labels(changed.Labels)
	})
}

// Delete deletes a subnet. It refuses if the subnet has users.
func (s *Subnets) Delete(project, id string) (api.Subnet, error) {
	removed, err := s.Remove(project, id, func(tx *store.Tx, _ api.Subnet) error {
		users, err := s.users(tx, project, id)
		if err == nil && users > 0 {
			return refusal.Conflict("subnet %q is used by %d node groups: delete them first", id, users)
		}
		return err
	})
	removed.Status = sdk.StatusDeleting
	return removed, err
}

func validateZone(zone *string) error {
	if zone != nil && !slices.Contains(api.Zones(), *zone) {
		return refusal.Invalid("zone %q does not exist: this cloud has %s", *zone, strings.Join(api.Zones(), ", "))
	}
	return nil
}
