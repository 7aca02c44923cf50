// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

func size(smallest, largest int) []nodegroup.ScalingConfigInput {
	return []nodegroup.ScalingConfigInput{{MinSize: &smallest, MaxSize: &largest}}
}

// somewhere returns a new subnet's id.
func (c *cloud) somewhere(t *testing.T) string {
	t.Helper()
	return c.createSubnet(t, create(t, c.networks, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16"}).ID, "10.0.1.0/24").ID
}

func TestLifeOfANodeGroup(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	in := nodegroup.CreateNodeGroupInput{Name: "web", SubnetIDs: []string{c.somewhere(t)}, ScalingConfig: size(2, 5)}
	group := create(t, c.groups.Collection, in)
	want := &nodegroup.NodeGroup{
		Name: "web", SubnetIDs: in.SubnetIDs, ScalingConfig: []nodegroup.ScalingConfig{{MinSize: 2, MaxSize: 5, DesiredSize: 2}},
		InstanceType: "small", Status: sdk.StatusAvailable, CreatedAt: group.CreatedAt,
		Upgrade: &nodegroup.Upgrade{Strategy: nodegroup.StrategyRolling, MaxUnavailable: 1, Version: nodegroup.Version},
		Repair:  &nodegroup.Repair{Enabled: true},
	}
	if diff := cmp.Diff(want, group); diff != "" {
		t.Errorf("a plain group, -want +got:\n%s", diff)
	}
	scaling := func(in nodegroup.ScalingConfigInput) *[]nodegroup.ScalingConfigInput {
		return &[]nodegroup.ScalingConfigInput{in}
	}
	cases := []struct {
		name string
		in   nodegroup.UpdateNodeGroupInput
		edit func(*nodegroup.NodeGroup, *nodegroup.ScalingConfig)
	}{
		{"nothing", nodegroup.UpdateNodeGroupInput{}, func(*nodegroup.NodeGroup, *nodegroup.ScalingConfig) {}},
		{"desired", nodegroup.UpdateNodeGroupInput{ScalingConfig: scaling(nodegroup.ScalingConfigInput{DesiredSize: new(4)})},
			func(_ *nodegroup.NodeGroup, s *nodegroup.ScalingConfig) { s.DesiredSize = 4 }},
		{"largest below desired", nodegroup.UpdateNodeGroupInput{ScalingConfig: scaling(nodegroup.ScalingConfigInput{MaxSize: new(3)})},
			func(_ *nodegroup.NodeGroup, s *nodegroup.ScalingConfig) { s.MaxSize, s.DesiredSize = 3, 3 }},
		{"smallest", nodegroup.UpdateNodeGroupInput{ScalingConfig: scaling(nodegroup.ScalingConfigInput{MinSize: new(1)})},
			func(_ *nodegroup.NodeGroup, s *nodegroup.ScalingConfig) { s.MinSize = 1 }},
		{"strategy", nodegroup.UpdateNodeGroupInput{Upgrade: &nodegroup.UpgradeInput{Strategy: new("RECREATE")}},
			func(g *nodegroup.NodeGroup, _ *nodegroup.ScalingConfig) { g.Upgrade.Strategy = "RECREATE" }},
		{"unavailable machines", nodegroup.UpdateNodeGroupInput{Upgrade: &nodegroup.UpgradeInput{MaxUnavailable: new(3)}},
			func(g *nodegroup.NodeGroup, _ *nodegroup.ScalingConfig) { g.Upgrade.MaxUnavailable = 3 }},
		{"no repairs", nodegroup.UpdateNodeGroupInput{Repair: &nodegroup.RepairInput{Enabled: new(false)}},
			func(g *nodegroup.NodeGroup, _ *nodegroup.ScalingConfig) { g.Repair.Enabled = false }},
		{"nothing of repairs", nodegroup.UpdateNodeGroupInput{Repair: &nodegroup.RepairInput{}},
			func(*nodegroup.NodeGroup, *nodegroup.ScalingConfig) {}},
		{"same type", nodegroup.UpdateNodeGroupInput{InstanceType: new("small")},
			func(*nodegroup.NodeGroup, *nodegroup.ScalingConfig) {}},
		{"labels", nodegroup.UpdateNodeGroupInput{Labels: map[string]string{"team": "a"}},
			func(g *nodegroup.NodeGroup, _ *nodegroup.ScalingConfig) { g.Labels = map[string]string{"team": "a"} }},
	}
	for _, tc := range cases { // One builds on the other.
		tc.edit(want, &want.ScalingConfig[0])
		if got, err := c.groups.Update(t.Context(), "web", tc.in); err != nil || !cmp.Equal(want, got) {
			t.Errorf("update of %s: error %v, -want +got:\n%s", tc.name, err, cmp.Diff(want, got))
		}
	}
	upgraded, err := c.groups.Update(t.Context(), "web", nodegroup.UpdateNodeGroupInput{InstanceType: new("large")})
	if err != nil || upgraded.Upgrade.LastUpgradeAt == nil || upgraded.Upgrade.LastUpgradeAt.Before(group.CreatedAt) {
		t.Fatalf("another type: %+v, error %v", upgraded, err)
	}
	want.InstanceType, want.Upgrade.LastUpgradeAt = "large", upgraded.Upgrade.LastUpgradeAt
	if diff := cmp.Diff(want, upgraded); diff != "" {
		t.Errorf("another type, -want +got:\n%s", diff)
	}
	found, err := c.groups.List(t.Context(), map[string]string{"team": "a"})
	if err != nil || !cmp.Equal([]nodegroup.NodeGroup{*want}, found) {
		t.Errorf("found by label: %v, error %v", found, err)
	}
	remove(t, c.groups.Collection, "web")
	if _, err := c.groups.Get(t.Context(), "web"); !sdk.IsNotFound(err) {
		t.Errorf("a deleted group: %v", err)
	}
}

func TestNodeGroupReplay(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	url, headers := c.url+"/v1/projects/demo/node-groups", map[string]string{"Idempotency-Key": "k"}
	body := fmt.Sprintf(`{"name":"web","subnet_ids":[%q],"scaling_config":[{"min_size":1,"max_size":3}]}`, c.somewhere(t))
	_, first := request(t, "POST", url, c.apiKey, body, headers)
	if _, err := c.groups.Autoscale(t.Context(), "web", 2); err != nil {
		t.Fatal(err)
	}
	for name, body := range map[string]string{"same": body, "edited": `{"name":"other"}`, "broken": `{`} {
		resp, got := request(t, "POST", url, c.apiKey, body, headers)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Idempotent-Replayed") != "true" || got != first {
			t.Errorf("%s repeat: %d %s", name, resp.StatusCode, got)
		}
	}
	expectRefusal(t, "POST", url, c.apiKey, body, nil, 409, sdk.CodeExists, `node group "web" exists in project "demo"`)
	remove(t, c.groups.Collection, "web")
	if resp, got := request(t, "POST", url, c.apiKey, body, headers); resp.StatusCode != http.StatusCreated {
		t.Errorf("after the delete the key answers %d %s", resp.StatusCode, got)
	}
}

func TestNodeGroupRefusals(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	where := c.somewhere(t)
	create(t, c.groups.Collection, nodegroup.CreateNodeGroupInput{Name: "web", SubnetIDs: []string{where}, ScalingConfig: size(1, 3)})
	create := func(name, subnets, scaling, more string) string {
		return fmt.Sprintf(`{"name":%q,"subnet_ids":[%s],"scaling_config":[%s]%s}`, name, subnets, scaling, more)
	}
	here := fmt.Sprintf("%q", where)
	refuse(t, c, "node-groups", map[string]refusal{
		"bad name":        {"POST", "", create("A", here, `{"min_size":1,"max_size":2}`, ""), 422, sdk.CodeInvalid, `name "A"`},
		"no subnets":      {"POST", "", create("a", "", `{"min_size":1,"max_size":2}`, ""), 422, sdk.CodeInvalid, "subnet_ids must have"},
		"unknown subnet":  {"POST", "", create("a", `"sub-0"`, `{"min_size":1,"max_size":2}`, ""), 422, sdk.CodeInvalid, `subnet "sub-0" does not exist`},
		"no size":         {"POST", "", create("a", here, "", ""), 422, sdk.CodeInvalid, "exactly one entry"},
		"two sizes":       {"POST", "", create("a", here, `{"min_size":1,"max_size":2},{"min_size":1,"max_size":2}`, ""), 422, sdk.CodeInvalid, "exactly one entry"},
		"no largest size": {"POST", "", create("a", here, `{"min_size":1}`, ""), 422, sdk.CodeInvalid, "min_size and max_size"},
		"min above max":   {"POST", "", create("a", here, `{"min_size":3,"max_size":2}`, ""), 422, sdk.CodeInvalid, "min_size <= max_size"},
		"negative":        {"POST", "", create("a", here, `{"min_size":-1,"max_size":2}`, ""), 422, sdk.CodeInvalid, "min_size -1"},
		"huge":            {"POST", "", create("a", here, `{"min_size":1,"max_size":1001}`, ""), 422, sdk.CodeInvalid, "1 to 1000"},
		"desired below":   {"POST", "", create("a", here, `{"min_size":1,"max_size":2,"desired_size":0}`, ""), 422, sdk.CodeInvalid, "must be 1 to 2"},
		"desired above":   {"PATCH", "/web", `{"scaling_config":[{"desired_size":4}]}`, 422, sdk.CodeInvalid, "must be 1 to 3"},
		"bad type":        {"PATCH", "/web", `{"instance_type":""}`, 422, sdk.CodeInvalid, "instance_type"},
		"bad strategy":    {"POST", "", create("a", here, `{"min_size":1,"max_size":2}`, `,"upgrade":{"strategy":"NEVER"}`), 422, sdk.CodeInvalid, "use ROLLING or RECREATE"},
		"none away":       {"PATCH", "/web", `{"upgrade":{"max_unavailable":0}}`, 422, sdk.CodeInvalid, "max_unavailable 0 is not valid: it must be 1 to 1000"},
		"many away":       {"PATCH", "/web", `{"upgrade":{"max_unavailable":1001}}`, 422, sdk.CodeInvalid, "must be 1 to 1000"},
		"output":          {"PATCH", "/web", `{"upgrade":{"version":"1"}}`, 422, sdk.CodeInvalid, `field "version" is unknown`},
		"two new sizes":   {"PATCH", "/web", `{"scaling_config":[{},{}]}`, 422, sdk.CodeInvalid, "exactly one entry, not 2"},
		"immutable":       {"PATCH", "/web", `{"subnet_ids":[]}`, 422, sdk.CodeInvalid, `field "subnet_ids" is unknown`},
		"bad label":       {"PATCH", "/web", `{"labels":{"-":""}}`, 422, sdk.CodeInvalid, "label key"},
		"no such group":   {"PATCH", "/none", `{}`, 404, sdk.CodeNotFound, `node group "none" does not exist`},
		"scaled above":    {"POST", "/web:autoscale", `{"desired_size":4}`, 422, sdk.CodeInvalid, "must be 1 to 3"},
		"scaled to what?": {"POST", "/web:autoscale", `{}`, 422, sdk.CodeInvalid, "desired_size is required"},
		"scaled nothing":  {"POST", "/none:autoscale", `{"desired_size":1}`, 404, sdk.CodeNotFound, `"none" does not exist`},
		"no such verb":    {"POST", "/web:explode", `{}`, 404, sdk.CodeNotFound, "use NAME:autoscale"},
	})
}

func TestAutoscalerMovesWhatAsksForIt(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{
		DataDir: newDataDir(t), PostgresSearchPath: []string{t.TempDir()}, AutoscaleInterval: 20 * time.Millisecond,
	})
	where := []string{c.somewhere(t)}
	create(t, c.groups.Collection, nodegroup.CreateNodeGroupInput{Name: "still", SubnetIDs: where, ScalingConfig: size(1, 3)})
	create(t, c.groups.Collection, nodegroup.CreateNodeGroupInput{
		Name: "moved", SubnetIDs: where, ScalingConfig: size(1, 3), Labels: map[string]string{nodegroup.AutoscaleLabel: "true"},
	})
	for _, want := range []int{3, 1, 2} {
		eventually(t, fmt.Sprintf("a size of %d", want), func() string {
			g, err := c.groups.Get(t.Context(), "moved")
			if err == nil && g.ScalingConfig[0].DesiredSize == want {
				return ""
			}
			return fmt.Sprint(g, err)
		})
	}
	if g, err := c.groups.Get(t.Context(), "still"); err != nil || g.ScalingConfig[0].DesiredSize != 1 {
		t.Errorf("a group without the label: %v, error %v", g, err)
	}
	g, err := c.groups.Autoscale(t.Context(), "still", 3)
	if err != nil || g.ScalingConfig[0].DesiredSize != 3 {
		t.Errorf("a group that is moved at once: %v, error %v", g, err)
	}
}
