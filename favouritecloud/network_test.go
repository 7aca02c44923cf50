// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
)

func (c *cloud) createSubnet(t *testing.T, networkID, block string) *subnet.Subnet {
	t.Helper()
	return create(t, c.subnets, subnet.CreateSubnetInput{NetworkID: networkID, CIDRBlock: block})
}

func TestLifeOfANetwork(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	plain := create(t, c.networks, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
	if want := (&network.Network{
		ID: plain.ID, CIDRBlock: "10.0.0.0/16", MTU: 1500, Status: sdk.StatusAvailable, CreatedAt: plain.CreatedAt,
	}); !cmp.Equal(want, plain) || !regexp.MustCompile(`^net-[0-9a-f]{10}$`).MatchString(plain.ID) {
		t.Errorf("a plain network, -want +got:\n%s", cmp.Diff(want, plain))
	}
	full := create(t, c.networks, network.CreateNetworkInput{
		CIDRBlock: "fd00::/48", Description: new("all of it"), DNSServers: []string{"10.0.0.2", "fd00::53"}, MTU: new(9000),
		Labels: map[string]string{"team": "a"},
	})
	if got := get(t, c.networks, full.ID); !cmp.Equal(full, got) {
		t.Errorf("-created +got:\n%s", cmp.Diff(full, got))
	}

	cases := []struct {
		name string
		in   network.UpdateNetworkInput
		edit func(*network.Network)
	}{
		{"nothing", network.UpdateNetworkInput{}, func(*network.Network) {}},
		{"mtu", network.UpdateNetworkInput{MTU: new(1400)}, func(n *network.Network) { n.MTU = 1400 }},
		{"description", network.UpdateNetworkInput{Description: new("")}, func(n *network.Network) { n.Description = "" }},
		{"other servers", network.UpdateNetworkInput{DNSServers: &[]string{"1.1.1.1"}}, func(n *network.Network) { n.DNSServers = []string{"1.1.1.1"} }},
		{"no servers", network.UpdateNetworkInput{DNSServers: &[]string{}}, func(n *network.Network) { n.DNSServers = nil }},
		{"other labels", network.UpdateNetworkInput{Labels: map[string]string{"b": "c"}}, func(n *network.Network) { n.Labels = map[string]string{"b": "c"} }},
		{"no labels", network.UpdateNetworkInput{Labels: map[string]string{}}, func(n *network.Network) { n.Labels = nil }},
	}
	for _, tc := range cases { // One builds on the other.
		tc.edit(full)
		got, err := c.networks.Update(t.Context(), full.ID, tc.in)
		if err != nil || !cmp.Equal(full, got) || !cmp.Equal(full, get(t, c.networks, full.ID)) {
			t.Errorf("update of %s: error %v, -want +got:\n%s", tc.name, err, cmp.Diff(full, got))
		}
	}

	remove(t, c.networks, full.ID)
	if _, err := c.networks.Get(t.Context(), full.ID); !sdk.IsNotFound(err) {
		t.Errorf("a deleted network: %v", err)
	}
	if err := c.networks.Delete(t.Context(), full.ID); !sdk.IsNotFound(err) {
		t.Errorf("deleting it again: %v", err)
	}
}

// TestNetworksAreFoundByLabelOnly tests the difficulty of this service for its clients: only labels distinguish a repeated
// request from a first one.
func TestNetworksAreFoundByLabelOnly(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	in := network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: map[string]string{"uid": "1"}}
	first := create(t, c.networks, in, sdk.WithIdempotencyKey("same"))
	second := create(t, c.networks, in, sdk.WithIdempotencyKey("same"))
	other := create(t, c.networks, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: map[string]string{"uid": "2"}})
	if first.ID == second.ID {
		t.Error("an idempotency key was obeyed")
	}
	for uid, want := range map[string][]*network.Network{"1": {first, second}, "2": {other}, "3": nil} {
		got, err := c.networks.List(t.Context(), map[string]string{"uid": uid})
		ids := map[string]bool{}
		for _, n := range got {
			ids[n.ID] = true
		}
		if err != nil || len(got) != len(want) {
			t.Errorf("networks labelled %s: %v, error %v", uid, got, err)
		}
		for _, n := range want {
			if !ids[n.ID] {
				t.Errorf("networks labelled %s: %v, without %s", uid, got, n.ID)
			}
		}
	}
}

func TestLifeOfASubnet(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	parent := create(t, c.networks, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
	var zones []string
	for n := range 4 {
		zones = append(zones, c.createSubnet(t, parent.ID, fmt.Sprintf("10.0.%d.0/24", n)).Zone)
	}
	if diff := cmp.Diff([]string{"zone-a", "zone-b", "zone-c", "zone-a"}, zones); diff != "" {
		t.Errorf("zones of the cloud's choice, -want +got:\n%s", diff)
	}
	chosen, err := c.subnets.Create(t.Context(), subnet.CreateSubnetInput{
		NetworkID: parent.ID, CIDRBlock: "10.0.9.0/24", Zone: new("zone-c"), Labels: map[string]string{"uid": "1"},
	})
	if err != nil || chosen.Zone != "zone-c" || !regexp.MustCompile(`^sub-[0-9a-f]{10}$`).MatchString(chosen.ID) {
		t.Fatalf("subnet in a zone of choice: %v, error %v", chosen, err)
	}
	chosen.Labels = map[string]string{"uid": "2"}
	got, err := c.subnets.Update(t.Context(), chosen.ID, subnet.UpdateSubnetInput{Labels: chosen.Labels})
	if err != nil || !cmp.Equal(chosen, got) {
		t.Errorf("update: error %v, -want +got:\n%s", err, cmp.Diff(chosen, got))
	}
	found, err := c.subnets.List(t.Context(), map[string]string{"uid": "2"})
	if err != nil || !cmp.Equal([]subnet.Subnet{*chosen}, found) {
		t.Errorf("found by label: %v, error %v", found, err)
	}

	if err := c.networks.Delete(t.Context(), parent.ID); !sdk.IsConflict(err) || !strings.Contains(err.Error(), "has 5 subnets") {
		t.Errorf("deleting a network in use: %v", err)
	}
	all, err := c.subnets.List(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if err := c.subnets.Delete(t.Context(), s.ID); err != nil {
			t.Error(err)
		}
	}
	if err := c.networks.Delete(t.Context(), parent.ID); err != nil {
		t.Errorf("deleting an empty network: %v", err)
	}
}

func TestSubnetInUseIsKept(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	parent := create(t, c.networks, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
	used := c.createSubnet(t, parent.ID, "10.0.1.0/24")
	create(t, c.groups.Collection, nodegroup.CreateNodeGroupInput{Name: "web", SubnetIDs: []string{used.ID}, ScalingConfig: size(1, 2)})
	if err := c.subnets.Delete(t.Context(), used.ID); !sdk.IsConflict(err) || !strings.Contains(err.Error(), "1 node groups") {
		t.Errorf("deleting a subnet in use: %v", err)
	}
	remove(t, c.groups.Collection, "web")
	if err := c.subnets.Delete(t.Context(), used.ID); err != nil {
		t.Errorf("deleting a subnet that is not used any more: %v", err)
	}
}

func TestNetworkRefusals(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	parent := create(t, c.networks, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"})
	c.createSubnet(t, parent.ID, "10.0.1.0/24")
	inParent := func(block string) string { return fmt.Sprintf(`{"network_id":%q,"cidr_block":%q}`, parent.ID, block) }
	refuse(t, c, "", map[string]refusal{
		"no network":          {"GET", "networks/net-0", "", 404, sdk.CodeNotFound, `network "net-0" does not exist in project "demo"`},
		"no range":            {"POST", "networks", `{}`, 422, sdk.CodeInvalid, `cidr_block ""`},
		"host bits":           {"POST", "networks", `{"cidr_block":"10.0.0.1/16"}`, 422, sdk.CodeInvalid, `use "10.0.0.0/16"`},
		"small mtu":           {"POST", "networks", `{"cidr_block":"10.0.0.0/16","mtu":575}`, 422, sdk.CodeInvalid, "576 to 9216"},
		"large mtu":           {"PATCH", "networks/" + parent.ID, `{"mtu":9217}`, 422, sdk.CodeInvalid, "576 to 9216"},
		"bad server":          {"PATCH", "networks/" + parent.ID, `{"dns_servers":["dns"]}`, 422, sdk.CodeInvalid, `"dns" is not an IP address`},
		"many servers":        {"PATCH", "networks/" + parent.ID, `{"dns_servers":["","","","","","","","",""]}`, 422, sdk.CodeInvalid, "at most 8"},
		"bad description":     {"PATCH", "networks/" + parent.ID, `{"description":"\n"}`, 422, sdk.CodeInvalid, "description is not valid"},
		"network label":       {"PATCH", "networks/" + parent.ID, `{"labels":{"-":""}}`, 422, sdk.CodeInvalid, "label key"},
		"immutable range":     {"PATCH", "networks/" + parent.ID, `{"cidr_block":"10.1.0.0/16"}`, 422, sdk.CodeInvalid, `field "cidr_block" is unknown`},
		"network in use":      {"DELETE", "networks/" + parent.ID, "", 409, sdk.CodeConflict, "has 1 subnets"},
		"no subnet":           {"DELETE", "subnets/sub-0", "", 404, sdk.CodeNotFound, `subnet "sub-0" does not exist`},
		"subnet of nothing":   {"POST", "subnets", `{"network_id":"net-0","cidr_block":"10.0.0.0/24"}`, 422, sdk.CodeInvalid, `network "net-0" does not exist`},
		"outside":             {"POST", "subnets", inParent("10.1.0.0/24"), 422, sdk.CodeInvalid, "is not inside 10.0.0.0/16"},
		"larger":              {"POST", "subnets", inParent("10.0.0.0/15"), 422, sdk.CodeInvalid, "is not inside 10.0.0.0/16"},
		"overlap":             {"POST", "subnets", inParent("10.0.1.128/25"), 409, sdk.CodeConflict, "overlaps 10.0.1.0/24"},
		"bad range of subnet": {"POST", "subnets", inParent("10.0.1"), 422, sdk.CodeInvalid, "cidr_block"},
		"no such zone":        {"POST", "subnets", `{"cidr_block":"10.0.0.0/24","zone":"zone-d"}`, 422, sdk.CodeInvalid, "zone-a, zone-b, zone-c"},
	})
}
