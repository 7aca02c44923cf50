// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
)

// createSubnet creates a network and a subnet in it, and returns their ids.
func (c *cloud) createSubnet(t *testing.T) (network, subnet string) {
	t.Helper()
	network = c.call(t, "POST", "networks", `{"cidr_block":"10.0.0.0/16"}`)["id"].(string)
	return network, c.call(t, "POST", "subnets", fmt.Sprintf(`{"network_id":%q,"cidr_block":"10.0.1.0/24"}`, network))["id"].(string)
}

// newGroup describes a node group. labels may be empty.
func newGroup(name, subnet, labels string) string {
	const sizes = `[{"min_size":1,"max_size":3}]`
	return fmt.Sprintf(`{"name":%q,"subnet_ids":[%q],"scaling_config":%s,"labels":{%s}}`, name, subnet, sizes, labels)
}

const plainGroup = `"scaling_config":[{"min_size":2,"max_size":5,"desired_size":2}],"instance_type":"small","status":"AVAILABLE",
	"repair":{"enabled":true},"upgrade":{"strategy":"ROLLING","max_unavailable":1,"version":"2026.1"}}`

func TestLifeOfARecord(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	parent, part := c.createSubnet(t)
	const full = `"cidr_block":"fd00::/48","description":"all","dns_servers":["10.0.0.2"],"mtu":9000,"labels":{"team":"a"}`
	cases := map[string]struct {
		path, id, create string
		want             string      // the answer but for id and time
		changes          [][2]string // updates that build on each other, with the fields of the answer that they change
	}{
		"network": {
			path: "networks", id: `^net-[0-9a-f]{10}$`, create: `{"cidr_block":"10.0.0.0/16"}`,
			want: `{"cidr_block":"10.0.0.0/16","mtu":1500,"status":"AVAILABLE"}`,
			changes: [][2]string{
				{`{}`, `{}`},
				{`{"mtu":1400,"description":"some of it"}`, `{"mtu":1400,"description":"some of it"}`},
				{`{"description":""}`, `{"description":null}`},
				{`{"dns_servers":["1.1.1.1","fd00::53"]}`, `{"dns_servers":["1.1.1.1","fd00::53"]}`},
				{`{"dns_servers":[]}`, `{"dns_servers":null}`},
				{`{"labels":{"b":"c"}}`, `{"labels":{"b":"c"}}`}, {`{"labels":{}}`, `{"labels":null}`},
			},
		},
		"full network": {
			path: "networks", id: `^net-`,
			create: `{` + full + `}`, want: `{` + full + `,"status":"AVAILABLE"}`,
		},
		"subnet": {
			path: "subnets", id: `^sub-[0-9a-f]{10}$`,
			create:  fmt.Sprintf(`{"network_id":%q,"cidr_block":"10.0.9.0/24","zone":"zone-c"}`, parent),
			want:    fmt.Sprintf(`{"network_id":%q,"cidr_block":"10.0.9.0/24","zone":"zone-c","status":"AVAILABLE"}`, parent),
			changes: [][2]string{{`{"labels":{"uid":"2"}}`, `{"labels":{"uid":"2"}}`}},
		},
		"node group": {
			path: "node-groups", id: `^web$`,
			create: fmt.Sprintf(`{"name":"web","subnet_ids":[%q],"scaling_config":[{"min_size":2,"max_size":5}]}`, part),
			want:   fmt.Sprintf(`{"subnet_ids":[%q],%s`, part, plainGroup),
			changes: [][2]string{
				{`{}`, `{}`},
				{`{"scaling_config":[{"desired_size":4}]}`, `{"scaling_config":[{"min_size":2,"max_size":5,"desired_size":4}]}`},
				{`{"scaling_config":[{"max_size":3}]}`, `{"scaling_config":[{"min_size":2,"max_size":3,"desired_size":3}]}`},
				{`{"scaling_config":[{"min_size":1}]}`, `{"scaling_config":[{"min_size":1,"max_size":3,"desired_size":3}]}`},
				{`{"upgrade":{"strategy":"RECREATE"}}`, `{"upgrade":{"strategy":"RECREATE","max_unavailable":1,"version":"2026.1"}}`},
				{`{"upgrade":{"max_unavailable":3}}`, `{"upgrade":{"strategy":"RECREATE","max_unavailable":3,"version":"2026.1"}}`},
				{`{"repair":{"enabled":false}}`, `{"repair":{"enabled":false}}`},
				{`{"repair":{}}`, `{}`},
				{`{"instance_type":"small"}`, `{}`},
				{`{"labels":{"team":"a"}}`, `{"labels":{"team":"a"}}`},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			created := c.call(t, "POST", tc.path, tc.create)
			id, _ := created["id"].(string)
			if tc.path == "node-groups" {
				id = created["name"].(string)
			}
			one, want := tc.path+"/"+id, maps.Clone(created) // with the id and the time of the answer
			maps.DeleteFunc(want, func(field string, _ any) bool { return !slices.Contains([]string{"id", "name", "created_at"}, field) })
			merge(t, want, tc.want)
			if diff := cmp.Diff(want, created); diff != "" || !regexp.MustCompile(tc.id).MatchString(id) {
				t.Errorf("id %q, -want +created:\n%s", id, diff)
			}
			for _, change := range tc.changes {
				merge(t, want, change[1])
				if got := c.call(t, "PATCH", one, change[0]); !cmp.Equal(want, got) || !cmp.Equal(want, c.call(t, "GET", one, "")) {
					t.Errorf("update %s, -want +got:\n%s", change[0], cmp.Diff(want, got))
				}
			}
			want["status"] = sdk.StatusDeleting
			if diff := cmp.Diff(want, c.call(t, "DELETE", one, "")); diff != "" {
				t.Errorf("delete, -want +got:\n%s", diff)
			}
			for _, method := range []string{"GET", "DELETE"} {
				c.refuse(t, c.apiKey, refusal{method, "/v1/projects/demo/" + one, "", 404, sdk.CodeNotFound, "does not exist"})
			}
		})
	}
}

// merge sets the fields of a JSON object in another one; null removes a field.
func merge(t *testing.T, into object, fields string) {
	t.Helper()
	if err := json.Unmarshal([]byte(fields), &into); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(into, func(_ string, value any) bool { return value == nil })
}

// Only labels distinguish a repeated request for a network from a first one.
func TestNetworksAreFoundByLabelOnly(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	networks := network.NewClient(c.client)
	ids := map[string][]string{}
	for _, uid := range []string{"1", "1", "2"} {
		in := network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: map[string]string{"uid": uid}}
		created, err := networks.Create(t.Context(), in, sdk.WithIdempotencyKey("same"))
		if err != nil {
			t.Fatal(err)
		}
		ids[uid] = append(ids[uid], created.ID)
	}
	for _, uid := range []string{"1", "2", "3"} {
		found, err := networks.List(t.Context(), map[string]string{"uid": uid})
		var got []string
		for _, n := range found {
			got = append(got, n.ID)
		}
		if slices.Sort(ids[uid]); err != nil || !cmp.Equal(ids[uid], got) {
			t.Errorf("networks labelled %s: %v, want %v, error %v", uid, got, ids[uid], err)
		}
	}
}

func TestZonesAndOrderOfDeletion(t *testing.T) {
	t.Parallel()
	c := startPaperCloud(t)
	parent, first := c.createSubnet(t)
	c.call(t, "POST", "node-groups", newGroup("web", first, ""))
	zones := []any{c.call(t, "GET", "subnets/"+first, "")["zone"]}
	for n := range 3 {
		in := fmt.Sprintf(`{"network_id":%q,"cidr_block":"10.0.1%d.0/24"}`, parent, n)
		zones = append(zones, c.call(t, "POST", "subnets", in)["zone"])
	}
	if diff := cmp.Diff([]any{"zone-a", "zone-b", "zone-c", "zone-a"}, zones); diff != "" {
		t.Errorf("zones of the cloud's choice, -want +got:\n%s", diff)
	}
	c.call(t, "DELETE", "node-groups/web", "")
	for _, id := range c.list(t, "subnets", "id") {
		c.refuse(t, c.apiKey, refusal{"DELETE", "/v1/projects/demo/networks/" + parent, "", 409, sdk.CodeConflict, "subnets"})
		c.call(t, "DELETE", "subnets/"+id.(string), "")
	}
	c.call(t, "DELETE", "networks/"+parent, "")
}

func TestAutoscaler(t *testing.T) {
	t.Parallel()
	c := startCloud(t, favouritecloud.Config{AutoscaleInterval: 20 * time.Millisecond})
	_, part := c.createSubnet(t)
	c.call(t, "POST", "node-groups", newGroup("still", part, ""))
	c.call(t, "POST", "node-groups", newGroup("moved", part, `"autoscale":"true"`))
	groups := nodegroup.NewClient(c.client)
	size := func(g *nodegroup.NodeGroup, err error) string {
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(g.ScalingConfig[0].DesiredSize)
	}
	for _, want := range []string{"3", "1", "2"} {
		eventually(t, "a size of "+want, func() string {
			if got := size(groups.Get(t.Context(), "moved")); got != want {
				return got
			}
			return ""
		})
	}
	if got := size(groups.Get(t.Context(), "still")); got != "1" {
		t.Errorf("a group without the label: %s", got)
	}
	if got := size(groups.Autoscale(t.Context(), "still", 3)); got != "3" {
		t.Errorf("a group that a client scales: %s", got)
	}
}

// TestRecordsSurviveKill kills the cloud while clients create node groups. Every group that was answered must exist afterwards,
// unchanged, and a repeat with the idempotency key must get the same answer.
func TestRecordsSurviveKill(t *testing.T) {
	t.Parallel()
	c := spawnCloud(t, newDataDir(t))
	_, part := c.createSubnet(t)
	in := nodegroup.CreateNodeGroupInput{
		SubnetIDs: []string{part}, ScalingConfig: []nodegroup.ScalingConfigInput{{MinSize: new(1), MaxSize: new(3)}},
	}
	var answered sync.Map // by name
	for round := range 4 {
		var busy sync.WaitGroup
		for client := range 3 {
			busy.Go(func() {
				mine, groups := in, nodegroup.NewClient(c.client)
				for n := 0; ; n++ {
					mine.Name = fmt.Sprintf("group-%d-%d-%d", round, client, n)
					group, err := groups.Create(t.Context(), mine, sdk.WithIdempotencyKey(mine.Name))
					if err != nil {
						return
					}
					answered.Store(mine.Name, group)
				}
			})
		}
		<-time.After(time.Duration(rand.IntN(200)) * time.Millisecond)
		c.kill()
		busy.Wait()
		c = spawnCloud(t, c.dir)
	}
	groups := nodegroup.NewClient(c.client)
	for name, want := range answered.Range {
		repeat, repeatErr := groups.Create(t.Context(), nodegroup.CreateNodeGroupInput{}, sdk.WithIdempotencyKey(name.(string)))
		got, err := groups.Get(t.Context(), name.(string))
		if err != nil || repeatErr != nil || !cmp.Equal(want, any(repeat)) || !cmp.Equal(want, any(got)) {
			t.Errorf("%s was answered with %+v, exists as %+v, %v, is repeated as %+v, %v", name, want, got, err, repeat, repeatErr)
		}
	}
}
