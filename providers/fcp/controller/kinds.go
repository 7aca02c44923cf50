// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller defines the kinds of the favourite cloud by package kind. cloud.go has what they have in common.
package controller

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	computev1alpha1 "github.com/bowline-dev/bowline/apis/compute/v1alpha1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cache"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/cluster"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/compute/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	namespacedcomputev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
)

// Kinds returns all kinds in all scopes.
func Kinds() []provider.Kind {
	in := system(clouds())
	return slices.Concat(
		kind.Serve(in, favouriteDBInstances(), &databasev1alpha3.FavouriteDBInstance{}),
		kind.Serve(in, cacheInstances(), &cachev1alpha3.CacheInstance{}),
		kind.Serve(in, favouriteClusters(), &computev1alpha3.FavouriteCluster{}),
		kind.Serve(in, networks(), &networkv1alpha3.Network{}, &namespacednetworkv1alpha3.Network{}),
		kind.Serve(in, subnets(), &namespacednetworkv1alpha3.Subnet{}),
		kind.Serve(in, nodeGroups(), &namespacedcomputev1alpha3.NodeGroup{}),
	)
}

func networks() kind.Kind[*sdk.Client, networkv1alpha3.NetworkParameters, networkv1alpha3.NetworkObservation, network.Network] {
	k := kindOf[networkv1alpha3.NetworkParameters, networkv1alpha3.NetworkObservation](kind.ByLabel, network.NewClient, same, nil, nil)
	k.ID = func(n *network.Network) string { return n.ID }
	k.List = func(ctx context.Context, c *sdk.Client, labels map[string]string) ([]network.Network, error) {
		return network.NewClient(c).List(ctx, labels)
	}
	return k
}

func subnets() kind.Kind[
	*sdk.Client, namespacednetworkv1alpha3.SubnetParameters, namespacednetworkv1alpha3.SubnetObservation, subnet.Subnet,
] {
	k := kindOf[namespacednetworkv1alpha3.SubnetParameters, namespacednetworkv1alpha3.SubnetObservation](kind.ByLabel, subnet.NewClient, same, nil, nil)
	k.ID = func(s *subnet.Subnet) string { return s.ID }
	k.List = func(ctx context.Context, c *sdk.Client, labels map[string]string) ([]subnet.Subnet, error) {
		return subnet.NewClient(c).List(ctx, labels)
	}
	return k
}

func nodeGroups() kind.Kind[*sdk.Client, namespacedcomputev1alpha3.NodeGroupParameters, namespacedcomputev1alpha3.NodeGroupObservation, nodegroup.NodeGroup] {
	return kindOf[namespacedcomputev1alpha3.NodeGroupParameters, namespacedcomputev1alpha3.NodeGroupObservation](kind.ByToken, nodegroup.NewClient, same, nil, nil)
}

type cacheRequest = kind.Request[cachev1alpha3.CacheInstanceParameters, cache.CreatedInstance]

func cacheInstances() kind.Kind[
	*sdk.Client, cachev1alpha3.CacheInstanceParameters, cachev1alpha3.CacheInstanceObservation, cache.CreatedInstance,
] {
	k := kindOf[cachev1alpha3.CacheInstanceParameters, cachev1alpha3.CacheInstanceObservation](kind.ByToken, cache.NewClient,
		func(i *cache.Instance) *cache.CreatedInstance { return &cache.CreatedInstance{Instance: *i} },
		func(r *cacheRequest, in *cache.CreateInstanceInput) { in.Name, in.Password = r.Name, chosenPassword(r) },
		func(r *cacheRequest, in *cache.UpdateInstanceInput) {
			in.Password, in.PreviousPasswordSeconds = chosenPassword(r), optional(int(math.Ceil(r.Overlap.Seconds())))
		})
	k.Name = func(mg resource.Managed, p *cachev1alpha3.CacheInstanceParameters) string {
		return *cmp.Or(p.Name, new(cloudName(mg.GetName())))
	}
	k.CheckSecrets = checkPassword[cachev1alpha3.CacheInstanceParameters, cache.CreatedInstance](cache.NewClient)
	k.Labels = func(i *cache.CreatedInstance) map[string]string { return i.Labels }
	k.Rotates, k.Overlaps = []string{"passwordSecretRef"}, true
	k.Connection = func(_ *sdk.Client, i *cache.CreatedInstance) managed.ConnectionDetails {
		return managed.ConnectionDetails{xpv1.ResourceCredentialsSecretPasswordKey: []byte(i.Password)}
	}
	return k
}

type clusterRequest = kind.Request[computev1alpha3.FavouriteClusterParameters, cluster.Cluster]

func favouriteClusters() kind.Kind[
	*sdk.Client, computev1alpha3.FavouriteClusterParameters, computev1alpha3.FavouriteClusterObservation, cluster.Cluster,
] {
	k := kindOf[computev1alpha3.FavouriteClusterParameters, computev1alpha3.FavouriteClusterObservation](kind.ByToken, cluster.NewClient, same,
		func(r *clusterRequest, in *cluster.CreateClusterInput) { in.Name = r.Name }, nil)
	k.Get = func(ctx context.Context, c *sdk.Client, r *clusterRequest) (*cluster.Cluster, error) { // with the token, which may be rotated there
		return cluster.NewClient(c).View(ctx, r.Name, cluster.ViewCredentials)
	}
	k.Name = func(mg resource.Managed, p *computev1alpha3.FavouriteClusterParameters) string {
		return *cmp.Or(p.Name, new(cloudName(mg.GetName())))
	}
	k.UniqueID = func(c *cluster.Cluster) string { return strconv.Itoa(c.ID) }
	k.Connection = func(_ *sdk.Client, c *cluster.Cluster) managed.ConnectionDetails {
		return managed.ConnectionDetails{
			xpv1.ResourceCredentialsSecretTokenKey: []byte(c.Token), xpv1.ResourceCredentialsSecretKubeconfigKey: kubeconfig(c),
		}
	}
	return k
}

// kubeconfig is empty until the cluster has an address.
func kubeconfig(c *cluster.Cluster) []byte {
	if c.Endpoint == "" || c.CertificateAuthority == "" || c.Token == "" {
		return nil
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[c.Name] = &clientcmdapi.Cluster{Server: c.Endpoint, CertificateAuthorityData: []byte(c.CertificateAuthority)}
	config.AuthInfos[c.Name] = &clientcmdapi.AuthInfo{Token: c.Token}
	config.Contexts[c.Name] = &clientcmdapi.Context{Cluster: c.Name, AuthInfo: c.Name}
	config.CurrentContext = c.Name
	text, err := clientcmd.Write(*config)
	if err != nil {
		return nil // strings can be encoded
	}
	return text
}

// maintenanceDatabase exists on every PostgreSQL server. The cloud creates no other.
const maintenanceDatabase = "postgres"

type databaseRequest = kind.Request[databasev1alpha3.FavouriteDBInstanceParameters, database.CreatedInstance]

func favouriteDBInstances() kind.Kind[
	*sdk.Client, databasev1alpha3.FavouriteDBInstanceParameters, databasev1alpha3.FavouriteDBInstanceObservation, database.CreatedInstance,
] {
	k := kindOf[databasev1alpha3.FavouriteDBInstanceParameters, databasev1alpha3.FavouriteDBInstanceObservation](kind.ByToken, database.NewClient,
		func(i *database.Instance) *database.CreatedInstance { return &database.CreatedInstance{Instance: *i} },
		func(r *databaseRequest, in *database.CreateInstanceInput) {
			in.Name, in.Password = r.Name, chosenPassword(r)
		},
		func(r *databaseRequest, in *database.UpdateInstanceInput) {
			in.FancinessLevel, in.Password = optional(r.Parameters.FancinessLevel), chosenPassword(r)
		})
	k.Name = func(mg resource.Managed, p *databasev1alpha3.FavouriteDBInstanceParameters) string {
		return cmp.Or(p.Name, cloudName(mg.GetName()))
	}
	k.UniqueID = func(i *database.CreatedInstance) string { return strconv.Itoa(i.ID) }
	k.CheckSecrets = checkPassword[databasev1alpha3.FavouriteDBInstanceParameters, database.CreatedInstance](database.NewClient)
	k.Labels = func(i *database.CreatedInstance) map[string]string { return i.Labels }
	k.Rotates = []string{"passwordSecretRef"}
	// Claims of this kind need all details in the Secret.
	k.Connection = func(_ *sdk.Client, i *database.CreatedInstance) managed.ConnectionDetails {
		return managed.ConnectionDetails{
			xpv1.ResourceCredentialsSecretDatabaseKey: []byte(maintenanceDatabase),
			xpv1.ResourceCredentialsSecretPasswordKey: []byte(i.Password),
		}
	}
	return k
}

// Classes returns the kinds of claims that the provider satisfies.
func Classes() []provider.Class {
	return []provider.Class{
		provider.ClassOf(&databasev1alpha1.FancySQLInstance{},
			&databasev1alpha3.FavouriteDBInstanceClass{}, &databasev1alpha3.FavouriteDBInstance{},
			func(claim *databasev1alpha1.FancySQLInstance, p *databasev1alpha3.FavouriteDBInstanceParameters) error {
				return provider.Agree("version", claim.Spec.Version, &p.Version)
			}, ownInstance),
		provider.ClassOf(&databasev1alpha1.PostgreSQLInstance{},
			&databasev1alpha3.FavouriteDBInstanceClass{}, &databasev1alpha3.FavouriteDBInstance{},
			func(claim *databasev1alpha1.PostgreSQLInstance, p *databasev1alpha3.FavouriteDBInstanceParameters) error {
				return provider.Agree("engineVersion", claim.Spec.EngineVersion, &p.Version)
			}, ownInstance),
		provider.ClassOf(&cachev1alpha1.RedisCluster{}, &cachev1alpha3.CacheInstanceClass{}, &cachev1alpha3.CacheInstance{},
			func(claim *cachev1alpha1.RedisCluster, p *cachev1alpha3.CacheInstanceParameters) error {
				return provider.Agree("engineVersion", claim.Spec.EngineVersion, &p.EngineVersion)
			},
			func(p *cachev1alpha3.CacheInstanceParameters) error {
				return cmp.Or(provider.Alone("name", p.Name != nil), provider.Alone("passwordSecretRef", p.PasswordSecretRef != nil))
			}),
		provider.ClassOf(&computev1alpha1.KubernetesCluster{}, &computev1alpha3.FavouriteClusterClass{}, &computev1alpha3.FavouriteCluster{},
			func(claim *computev1alpha1.KubernetesCluster, p *computev1alpha3.FavouriteClusterParameters) error {
				return provider.Agree("clusterVersion", claim.Spec.ClusterVersion, &p.Version)
			},
			func(p *computev1alpha3.FavouriteClusterParameters) error {
				return provider.Alone("name", p.Name != nil)
			}),
	}
}

// ownInstance refuses settings that no two claims can share.
func ownInstance(p *databasev1alpha3.FavouriteDBInstanceParameters) error {
	return cmp.Or(provider.Alone("name", p.Name != ""), provider.Alone("passwordSecretRef", p.PasswordSecretRef != nil))
}
