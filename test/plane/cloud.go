// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/meta"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
)

// An Onlooker sees one project of the plane's cloud without Bowline in between.
type Onlooker struct {
	// Networks are the project's.
	Networks *network.Client
	// Subnets are the project's.
	Subnets *subnet.Client
	// NodeGroups are the project's.
	NodeGroups *nodegroup.Client
	// Databases are the project's.
	Databases *database.Client
}

// Onlooker returns one who has the key of the project Project. It makes no request.
func (p *Plane) Onlooker(t testing.TB, key string) *Onlooker {
	t.Helper()
	c, err := sdk.NewClient(sdk.Config{Endpoint: p.Cloud, Project: Project, APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	return &Onlooker{
		Networks: network.NewClient(c), Subnets: subnet.NewClient(c), NodeGroups: nodegroup.NewClient(c), Databases: database.NewClient(c),
	}
}

// Mine are the labels of what was made for the object of that uid, and of nothing else.
func Mine(uid types.UID) map[string]string {
	return map[string]string{meta.ExternalLabelUID: string(uid)}
}

// Admin returns a client that disturbs the cloud and counts its calls. The plane needs the argument --cloud-admin.
func (p *Plane) Admin(t testing.TB) *sdk.AdminClient {
	t.Helper()
	token, err := favouritecloud.ReadAdminToken(filepath.Join(p.Dir, "cloud"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := sdk.NewAdminClient(p.Cloud, token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ConnectEverywhere makes configurations named default for objects of every scope and namespace, and returns an onlooker
// on the same project.
func (p *Plane) ConnectEverywhere(t testing.TB) *Onlooker {
	t.Helper()
	const name = "default"
	key := p.NewKey(t, Project)
	p.Connect(t, name, key)
	everywhere := &namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: p.Config(name).Spec}
	if err := p.Client.Create(t.Context(), everywhere); err != nil {
		t.Fatal(err)
	}
	return p.Onlooker(t, key)
}

// A Census is what the cloud holds for each object, by the label that proves it. What carries no such label counts for
// the empty uid.
type Census struct {
	// Networks is their number by the uid of their objects.
	Networks map[types.UID]int
	// Subnets is their number by the uid of their objects.
	Subnets map[types.UID]int
	// Databases is their number by the uid of their objects.
	Databases map[types.UID]int
}

// Census counts all networks, subnets and databases of the project.
func (o *Onlooker) Census(ctx context.Context) (Census, error) {
	c := Census{Networks: map[types.UID]int{}, Subnets: map[types.UID]int{}, Databases: map[types.UID]int{}}
	count := func(in map[types.UID]int, labels map[string]string) { in[types.UID(labels[meta.ExternalLabelUID])]++ }
	networks, networksErr := o.Networks.ListNetworks(ctx, nil)
	for _, n := range networks {
		count(c.Networks, n.Labels)
	}
	subnets, subnetsErr := o.Subnets.ListSubnets(ctx, nil)
	for _, s := range subnets {
		count(c.Subnets, s.Labels)
	}
	databases, databasesErr := o.Databases.ListInstances(ctx, nil)
	for _, d := range databases {
		count(c.Databases, d.Labels)
	}
	return c, errors.Join(networksErr, subnetsErr, databasesErr)
}

// Compare says how many of the objects have nothing in the cloud, and how much the cloud has beside one for each object.
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

// Exactly returns nil if the cloud holds one for each object and no other.
func Exactly(what string, have map[types.UID]int, objects []types.UID) error {
	if missing, superfluous := Compare(have, objects); missing+superfluous > 0 {
		return fmt.Errorf("of %d %s, %d are missing in the cloud, which has %d too many", len(objects), what, missing, superfluous)
	}
	return nil
}
