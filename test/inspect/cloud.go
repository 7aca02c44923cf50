// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"maps"

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

// A Project is direct access to one project of the favourite cloud.
type Project struct {
	Networks   *network.Client
	Subnets    *subnet.Client
	NodeGroups *nodegroup.Client
	Databases  *database.Client
	Caches     *cache.Client
}

// NewProject returns access to the project of an API key. It makes no request.
func NewProject(endpoint, project, key string) (*Project, error) {
	c, err := sdk.NewClient(sdk.Config{Endpoint: endpoint, Project: project, APIKey: key})
	if err != nil {
		return nil, err
	}
	return &Project{
		Networks: network.NewClient(c), Subnets: subnet.NewClient(c), NodeGroups: nodegroup.NewClient(c),
		Databases: database.NewClient(c), Caches: cache.NewClient(c),
	}, nil
}

// TierLabel is the label of a subnet that is its Setting.
const TierLabel = "tier"

// An External is an external resource.
type External struct {
	Kind string // "network", "subnet", "node group", "database" or "cache"
	Name string // in the cloud
	// Owner is the uid of the object that it was created for, by its label. Empty without that label.
	Owner    types.UID
	Deleting bool                        // true while the cloud deletes it
	Setting  string                      // one that may change: MTU, tier, maximal size, fanciness level or memory
	Delete   func(context.Context) error // deletes it
}

func (e External) String() string {
	return fmt.Sprintf("%s of %q with %q (deleting: %t)", e.Name, e.Owner, e.Setting, e.Deleting)
}

// All lists the external resources of the project.
func (p *Project) All(ctx context.Context) ([]External, error) {
	var found []External
	add := func(kind, name, status, setting string, labels map[string]string, remove func(context.Context, string) error) {
		found = append(found, External{
			Kind: kind, Name: name, Owner: types.UID(labels[meta.ExternalLabelUID]), Deleting: status == sdk.StatusDeleting,
			Setting: setting, Delete: func(ctx context.Context) error { return remove(ctx, name) },
		})
	}
	groups, groupsErr := p.NodeGroups.List(ctx, nil)
	for _, g := range groups {
		setting := ""
		if len(g.ScalingConfig) > 0 {
			setting = fmt.Sprint(g.ScalingConfig[0].MaxSize)
		}
		add("node group", g.Name, g.Status, setting, g.Labels, p.NodeGroups.Delete)
	}
	subnets, subnetsErr := p.Subnets.List(ctx, nil)
	for _, s := range subnets {
		add("subnet", s.ID, s.Status, s.Labels[TierLabel], s.Labels, p.Subnets.Delete)
	}
	networks, networksErr := p.Networks.List(ctx, nil)
	for _, n := range networks {
		add("network", n.ID, n.Status, fmt.Sprint(n.MTU), n.Labels, p.Networks.Delete)
	}
	databases, databasesErr := p.Databases.List(ctx, nil)
	for _, d := range databases {
		add("database", d.Name, d.Status, fmt.Sprint(d.FancinessLevel), d.Labels, p.Databases.Delete)
	}
	caches, cachesErr := p.Caches.List(ctx, nil)
	for _, c := range caches {
		add("cache", c.Name, c.Status, fmt.Sprint(c.MemoryMegabytes), c.Labels, p.Caches.Delete)
	}
	return found, errors.Join(groupsErr, subnetsErr, networksErr, databasesErr, cachesErr)
}

// A Census counts external resources by kind and owner.
type Census map[string]map[types.UID]int

// Census counts all external resources of the project.
func (p *Project) Census(ctx context.Context) (Census, error) {
	all, err := p.All(ctx)
	c := Census{}
	for _, e := range all {
		if c[e.Kind] == nil {
			c[e.Kind] = map[types.UID]int{}
		}
		c[e.Kind][e.Owner]++
	}
	return c, err
}

// Compare returns how many of the objects have no external resource, and how many external resources there are beyond one for
// each object.
func Compare(have map[types.UID]int, objects []types.UID) (missing, superfluous int) {
	left := maps.Clone(have)
	for _, uid := range objects {
		if left[uid] == 0 {
			missing++
		} else {
			left[uid]--
		}
	}
	for _, n := range left {
		superfluous += n
	}
	return missing, superfluous
}

// OwnedBy returns the labels of the external resources that were created for the object of that uid, and of nothing else.
func OwnedBy(uid types.UID) map[string]string {
	return map[string]string{meta.ExternalLabelUID: string(uid)}
}

// A Cloud is a favourite cloud in this process.
type Cloud struct {
	*favouritecloud.Server

	Stop  func() error // stops the cloud
	token string
}

// StartCloud starts a cloud and returns when it is ready.
func StartCloud(config favouritecloud.Config) (c *Cloud, err error) {
	c = &Cloud{}
	if c.Server, err = favouritecloud.New(config); err != nil {
		return nil, err
	}
	c.Stop, err = testkit.Background(context.Background(), c.Run, func(ctx context.Context) error {
		select {
		case <-c.Ready():
			c.token, err = favouritecloud.ReadAdminToken(config.DataDir)
			return err
		case <-ctx.Done():
			return errors.New("the cloud does not start")
		}
	})
	return c, err
}

// NewKey returns a new API key of a project.
func (c *Cloud) NewKey(ctx context.Context, project string) (string, error) {
	key, err := sdk.CreateKey(ctx, c.URL(), c.token, project)
	if err != nil {
		return "", err
	}
	return key.Key, nil
}
