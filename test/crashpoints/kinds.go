// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
)

const (
	connectionSecret = "connection"
	passwordSecret   = "password"
	keySecret        = "key" // of the provider configurations
)

// A kind is a managed kind of the provider. Its names are chosen, or its creations can be repeated or found: no interrupted create
// may need manual intervention.
type kind struct {
	name string
	// declare returns an object as a user declares it. change is an update of it.
	declare func(*site, metav1.ObjectMeta) resource.Managed
	change  func(resource.Managed)
	// setting returns what the object declares for the setting that change changes, as external has it.
	setting func(resource.Managed) string
	// opens returns nil if a connection Secret opens its server. Nil for kinds without one.
	opens func(ctx context.Context, data map[string][]byte) error
	// claims is set for kinds of operations on claims. These have no common operations.
	claims *claimKind
	// more are operations that only this kind has.
	more []operation
}

func kinds() []kind {
	return []kind{databases(), caches(), clusterNetworks(), networks(), subnets(), nodeGroups(), claims(), databaseClaims()}
}

func databases() kind {
	return kind{
		name: "FavouriteDBInstance",
		declare: func(s *site, m metav1.ObjectMeta) resource.Managed {
			m.Name = s.namespace + "-" + m.Name // cluster-scoped
			d := &databasev1alpha3.FavouriteDBInstance{ObjectMeta: m}
			d.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: s.namespace}
			d.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.namespace, Name: connectionSecret}
			d.Spec.ForProvider.FancinessLevel = 20
			return d
		},
		change: func(mg resource.Managed) {
			mg.(*databasev1alpha3.FavouriteDBInstance).Spec.ForProvider.FancinessLevel = 30
		},
		setting: func(mg resource.Managed) string {
			return fmt.Sprint(mg.(*databasev1alpha3.FavouriteDBInstance).Spec.ForProvider.FancinessLevel)
		},
		opens: inspect.OpensPostgreSQL,
		more: withPassword(func(mg resource.Managed, password *xpv1.SecretKeySelector) {
			mg.(*databasev1alpha3.FavouriteDBInstance).Spec.ForProvider.PasswordSecretRef = password
		}),
	}
}

func caches() kind {
	of := func(mg resource.Managed) *cachev1alpha3.CacheInstanceParameters {
		return mg.(*cachev1alpha3.CacheInstance).Parameters()
	}
	return kind{
		name: "CacheInstance",
		declare: func(s *site, m metav1.ObjectMeta) resource.Managed {
			m.Name = s.namespace + "-" + m.Name // cluster-scoped
			c := &cachev1alpha3.CacheInstance{ObjectMeta: m}
			c.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: s.namespace}
			c.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: s.namespace, Name: connectionSecret}
			c.Spec.ForProvider.MemoryMegabytes = new(8)
			return c
		},
		change:  func(mg resource.Managed) { of(mg).MemoryMegabytes = new(16) },
		setting: func(mg resource.Managed) string { return fmt.Sprint(*of(mg).MemoryMegabytes) },
		opens:   inspect.OpensRedis,
		more:    withPassword(func(mg resource.Managed, password *xpv1.SecretKeySelector) { of(mg).PasswordSecretRef = password }),
	}
}

// A networkObject is a Network of either scope.
type networkObject interface {
	resource.Managed
	Parameters() *networkv1alpha3.NetworkParameters
}

func networkKind(name string, declare func(*site, metav1.ObjectMeta) resource.Managed) kind {
	return kind{
		name: name,
		declare: func(s *site, m metav1.ObjectMeta) resource.Managed {
			n := declare(s, m).(networkObject)
			n.Parameters().CIDRBlock, n.Parameters().MTU = new("10.0.0.0/8"), new(1400)
			return n
		},
		change:  func(mg resource.Managed) { mg.(networkObject).Parameters().MTU = new(9000) },
		setting: func(mg resource.Managed) string { return fmt.Sprint(*mg.(networkObject).Parameters().MTU) },
		more:    withConfig(),
	}
}

func clusterNetworks() kind {
	return networkKind("ClusterNetwork", func(s *site, m metav1.ObjectMeta) resource.Managed {
		m.Name = s.namespace + "-" + m.Name
		n := &networkv1alpha3.Network{ObjectMeta: m}
		n.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: s.namespace}
		return n
	})
}

func networks() kind {
	return networkKind("Network", func(s *site, m metav1.ObjectMeta) resource.Managed {
		m.Namespace = s.namespace
		n := &namespacednetworkv1alpha3.Network{ObjectMeta: m}
		n.Spec.ProviderConfigReference = s.clusterConfig()
		return n
	})
}

func subnets() kind {
	return kind{
		name: "Subnet",
		declare: func(s *site, m metav1.ObjectMeta) resource.Managed {
			m.Namespace = s.namespace
			n := &namespacednetworkv1alpha3.Subnet{ObjectMeta: m}
			n.Spec.ProviderConfigReference = s.clusterConfig()
			n.Spec.ForProvider.NetworkID, n.Spec.ForProvider.CIDRBlock = &s.project.network, new("10.1.0.0/16")
			n.Spec.ForProvider.Labels = map[string]string{inspect.TierLabel: "web"}
			return n
		},
		change: func(mg resource.Managed) {
			mg.(*namespacednetworkv1alpha3.Subnet).Spec.ForProvider.Labels[inspect.TierLabel] = "data"
		},
		setting: func(mg resource.Managed) string {
			return mg.(*namespacednetworkv1alpha3.Subnet).Spec.ForProvider.Labels[inspect.TierLabel]
		},
		more: withParent(networks(), func(mg resource.Managed, parent string) {
			p := &mg.(*namespacednetworkv1alpha3.Subnet).Spec.ForProvider
			p.NetworkID, p.NetworkIDRef = nil, &xpv1.Reference{Name: parent}
		}),
	}
}

func nodeGroups() kind {
	return kind{
		name: "NodeGroup",
		declare: func(s *site, m metav1.ObjectMeta) resource.Managed {
			m.Namespace = s.namespace
			g := &computev1alpha3.NodeGroup{ObjectMeta: m}
			g.Spec.ProviderConfigReference = s.clusterConfig()
			g.Spec.ForProvider.SubnetIDs = []string{s.project.subnet}
			g.Spec.ForProvider.ScalingConfig = []computev1alpha3.ScalingConfig{{MinSize: new(1), MaxSize: new(4)}}
			g.Spec.InitProvider.ScalingConfig = []computev1alpha3.ScalingConfig{{DesiredSize: new(2)}}
			return g
		},
		change: func(mg resource.Managed) {
			mg.(*computev1alpha3.NodeGroup).Spec.ForProvider.ScalingConfig[0].MaxSize = new(6)
		},
		setting: func(mg resource.Managed) string {
			return fmt.Sprint(*mg.(*computev1alpha3.NodeGroup).Spec.ForProvider.ScalingConfig[0].MaxSize)
		},
		more: withParent(subnets(), func(mg resource.Managed, parent string) {
			p := &mg.(*computev1alpha3.NodeGroup).Spec.ForProvider
			p.SubnetIDs, p.SubnetIDRefs = nil, []xpv1.Reference{{Name: parent}}
		}),
	}
}

func (s *site) clusterConfig() *xpv1.ProviderConfigReference {
	return &xpv1.ProviderConfigReference{Kind: xpv1.ClusterProviderConfigKind, Name: s.namespace}
}
