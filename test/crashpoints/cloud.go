// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// A cloud is a favourite cloud in this process.
type cloud struct {
	endpoint string
	token    string // of the administrator
	cancel   context.CancelFunc
	ended    chan error
}

func startCloud(dir string) (*cloud, error) {
	server, err := favouritecloud.New(favouritecloud.Config{DataDir: dir, Listen: "127.0.0.1:0", AutoscaleInterval: time.Hour})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &cloud{cancel: cancel, ended: make(chan error, 1)}
	go func() { c.ended <- server.Run(ctx) }()
	select {
	case <-server.Ready():
		c.endpoint = server.URL()
	case err := <-c.ended:
		cancel()
		return nil, err
	}
	if c.token, err = favouritecloud.ReadAdminToken(dir); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func (c *cloud) stop() error {
	c.cancel()
	return <-c.ended
}

// A project is what one site has in the cloud, as an onlooker sees it who calls the cloud directly.
type project struct {
	name      string
	key       string
	databases *database.Client
	caches    *cache.Client
	networks  *network.Client
	subnets   *subnet.Client
	groups    *nodegroup.Client

	// A network and a subnet that belong to no object: others live in them.
	network, subnet string
}

func (c *cloud) newProject(ctx context.Context, name string) (*project, error) {
	key, err := sdk.CreateKey(ctx, c.endpoint, c.token, name)
	if err != nil {
		return nil, err
	}
	client, err := sdk.NewClient(sdk.Config{Endpoint: c.endpoint, Project: name, APIKey: key.Key})
	if err != nil {
		return nil, err
	}
	p := &project{
		name: name, key: key.Key,
		databases: database.NewClient(client), caches: cache.NewClient(client), networks: network.NewClient(client),
		subnets: subnet.NewClient(client), groups: nodegroup.NewClient(client),
	}
	n, err := p.networks.CreateNetwork(ctx, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/8"})
	if err != nil {
		return nil, err
	}
	s, err := p.subnets.CreateSubnet(ctx, subnet.CreateSubnetInput{NetworkID: n.ID, CIDRBlock: "10.255.0.0/16"})
	if err != nil {
		return nil, err
	}
	p.network, p.subnet = n.ID, s.ID
	return p, nil
}

// An external is one resource in the cloud.
type external struct {
	name    string
	owner   types.UID // of the object that it was made for
	leaving bool
	setting string // the one that the kind's update changes
	remove  func(context.Context) error
}

// all lists the project's resources but for those that belong to no object by design.
func (p *project) all(ctx context.Context) ([]external, error) {
	var found []external
	add := func(name, status, setting string, labels map[string]string, remove func(context.Context, string) error) {
		found = append(found, external{
			name: name, owner: types.UID(labels[meta.ExternalLabelUID]), leaving: status == database.StatusDeleting, setting: setting,
			remove: func(ctx context.Context) error { return remove(ctx, name) },
		})
	}
	groups, groupsErr := p.groups.ListNodeGroups(ctx, nil)
	for _, g := range groups {
		add(g.Name, g.Status, fmt.Sprint(g.ScalingConfig[0].MaxSize), g.Labels, p.groups.DeleteNodeGroup)
	}
	subnets, subnetsErr := p.subnets.ListSubnets(ctx, nil)
	for _, s := range subnets {
		if s.ID != p.subnet {
			add(s.ID, s.Status, s.Labels[tierLabel], s.Labels, p.subnets.DeleteSubnet)
		}
	}
	networks, networksErr := p.networks.ListNetworks(ctx, nil)
	for _, n := range networks {
		if n.ID != p.network {
			add(n.ID, n.Status, fmt.Sprint(n.MTU), n.Labels, p.networks.DeleteNetwork)
		}
	}
	databases, databasesErr := p.databases.ListInstances(ctx, nil)
	for _, d := range databases {
		add(d.Name, d.Status, fmt.Sprint(d.FancinessLevel), d.Labels, p.databases.DeleteInstance)
	}
	caches, cachesErr := p.caches.ListInstances(ctx, nil)
	for _, c := range caches {
		add(c.Name, c.Status, fmt.Sprint(c.MemoryMegabytes), c.Labels, p.caches.DeleteInstance)
	}
	return found, errors.Join(groupsErr, subnetsErr, networksErr, databasesErr, cachesErr)
}

// empty removes all that all lists, and returns when it is gone.
func (p *project) empty(ctx context.Context) error {
	return testkit.Poll(ctx, func() error {
		left, err := p.all(ctx)
		if err != nil {
			return err
		}
		for _, e := range left {
			if err := e.remove(ctx); err != nil && !sdk.IsNotFound(err) {
				return err
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("%d external resources are left, such as %s", len(left), left[0].name)
		}
		return nil
	})
}
