// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package favouritecloud_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
)

// TestRecordsSurviveKill kills the cloud while clients make networks, subnets and node groups. Whatever was answered
// must be there afterwards, unchanged, and a repeat with an idempotency key must make nothing new.
func TestRecordsSurviveKill(t *testing.T) {
	t.Parallel()
	dir := newDataDir(t)
	const rounds, clients, longest = 4, 3, 200
	w := &witness{networks: map[string]*network.Network{}, groups: map[string]*nodegroup.NodeGroup{}}
	for round := range rounds {
		c, cloudProcess := spawnCloud(t, dir)
		var busy sync.WaitGroup
		for client := range clients {
			busy.Go(func() {
				for n := 0; w.createAll(t, c, fmt.Sprintf("group-%d-%d-%d", round, client, n)) == nil; n++ {
				}
			})
		}
		<-time.After(time.Duration(rand.IntN(longest)) * time.Millisecond)
		cloudProcess.end(t, syscall.SIGKILL)
		busy.Wait()
	}
	t.Logf("%d attempts; %d networks and %d groups were answered", w.attempts, len(w.networks), len(w.groups))

	c, _ := spawnCloud(t, dir)
	for id, want := range w.networks {
		if got := get(t, c.networks, id); !cmp.Equal(want, got) {
			t.Errorf("-answered +kept:\n%s", cmp.Diff(want, got))
		}
	}
	if kept, err := c.networks.List(t.Context(), nil); err != nil || len(kept) > w.attempts {
		t.Errorf("%d attempts left %d networks, error %v", w.attempts, len(kept), err)
	}
	for name, want := range w.groups {
		repeat, err := c.groups.Create(t.Context(), nodegroup.CreateNodeGroupInput{}, sdk.WithIdempotencyKey(name))
		if err != nil || !cmp.Equal(want, repeat) {
			t.Errorf("repeating %s: error %v, -answered +repeated:\n%s", name, err, cmp.Diff(want, repeat))
		}
		if got, err := c.groups.Get(t.Context(), name); err != nil || !cmp.Equal(want, got) {
			t.Errorf("getting %s: error %v, -answered +kept:\n%s", name, err, cmp.Diff(want, got))
		}
	}
}

// witness is what the clients of a cloud that is killed know for sure.
type witness struct {
	mu       sync.Mutex
	attempts int
	networks map[string]*network.Network
	groups   map[string]*nodegroup.NodeGroup
}

// createAll creates a network, a subnet and a node group, and fails when the cloud has been killed.
func (w *witness) createAll(t *testing.T, c *cloud, name string) error {
	label := map[string]string{"attempt": name}
	w.note(func() { w.attempts++ })
	created, err := c.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: label})
	if err != nil {
		return err
	}
	w.note(func() { w.networks[created.ID] = created })
	part, err := c.subnets.Create(t.Context(), subnet.CreateSubnetInput{NetworkID: created.ID, CIDRBlock: "10.0.1.0/24"})
	if err != nil {
		return err
	}
	group, err := c.groups.Create(t.Context(), nodegroup.CreateNodeGroupInput{
		Name: name, SubnetIDs: []string{part.ID}, ScalingConfig: size(1, 3), Labels: label,
	}, sdk.WithIdempotencyKey(name))
	if err != nil {
		return err
	}
	w.note(func() { w.groups[name] = group })
	return nil
}

func (w *witness) note(fact func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fact()
}
