// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/test/inspect"
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

// A project is what one site has in the cloud.
type project struct {
	*inspect.Project

	name, key string
	// A network and a subnet that belong to no object: others are created in them.
	network, subnet string
}

func (c *cloud) newProject(ctx context.Context, name string) (*project, error) {
	key, err := sdk.CreateKey(ctx, c.endpoint, c.token, name)
	if err != nil {
		return nil, err
	}
	p := &project{name: name, key: key.Key}
	if p.Project, err = inspect.NewProject(c.endpoint, name, key.Key); err != nil {
		return nil, err
	}
	n, err := p.Networks.Create(ctx, network.CreateNetworkInput{CIDRBlock: "10.0.0.0/8"})
	if err != nil {
		return nil, err
	}
	s, err := p.Subnets.Create(ctx, subnet.CreateSubnetInput{NetworkID: n.ID, CIDRBlock: "10.255.0.0/16"})
	if err != nil {
		return nil, err
	}
	p.network, p.subnet = n.ID, s.ID
	return p, nil
}

// all lists the project's resources except those that belong to no object by design.
func (p *project) all(ctx context.Context) ([]inspect.External, error) {
	found, err := p.All(ctx)
	return slices.DeleteFunc(found, func(e inspect.External) bool { return e.Name == p.network || e.Name == p.subnet }), err
}

// empty deletes all that all lists, and waits until it is deleted.
func (p *project) empty(ctx context.Context) error {
	return testkit.Poll(ctx, func() error {
		left, err := p.all(ctx)
		if err != nil {
			return err
		}
		for _, e := range left {
			if err := e.Delete(ctx); err != nil && !sdk.IsNotFound(err) {
				return err
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("%d external resources are left, such as %s", len(left), left[0].Name)
		}
		return nil
	})
}
