// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// Everything that a person sees of the provider's kinds, on a real API server and with a real cloud.
func TestProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]func(*testing.T, *world){
		"cluster network (R39, R40, R65, R149, R150, P10, P15, N23)":    func(t *testing.T, w *world) { networkLives(t, w, w.clusterNetwork()) },
		"namespaced network (R39, R40, R65, R149, R150, P10, P15, N23)": func(t *testing.T, w *world) { networkLives(t, w, w.network("life")) },
		"network is found (N5, N23)":                                    networkIsFound,
		"wrong range":                                                   importWithAnotherRange,
		"observed network (O32, R111, R113, R152, P81)":                 observedNetwork,
		"own configuration (N2)":                                        ownConfiguration,
		"subnet (R38, R150, P15)":                                       subnetLives,
		"node group (R138, R141, R143, R144, R146, R150)":               nodeGroupLives,
		"network as created (R138, R143, R144, R146)":                   initialNetwork,
		"database as created (D19, R138, R146)":                         initialDatabase,
		"cache (R38, R39, R150, R211, P15, P62, P65)":                   cacheLives,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// What needs a world of its own.
func TestProviderAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(*testing.T){
		"references (R161, R162, R165, R166, R170, N32)": references,
		"lost answers (N5, N22)":                         lostAnswers,
		"failed creation (N5, N26)":                      failedCreation,
		"chosen password (R150, R221, P61, P64)":         chosenPassword,
		"chosen password of a cache (R221, P61, P64)":    chosenCachePassword,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t)
		})
	}
}

func (w *world) clusterNetwork() *networkv1alpha3.Network {
	n := &networkv1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Name: w.Prefix + "network"}}
	n.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: w.Namespace}
	n.Spec.ForProvider.CIDRBlock = new("10.0.0.0/16")
	return n
}

func (w *world) network(name string) *namespacednetworkv1alpha3.Network {
	n := &namespacednetworkv1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec.ProviderConfigReference = w.config()
	n.Spec.ForProvider.CIDRBlock = new("10.0.0.0/16")
	return n
}

func (w *world) config() *xpv1.ProviderConfigReference {
	return &xpv1.ProviderConfigReference{Kind: xpv1.ClusterProviderConfigKind, Name: w.Namespace}
}

// A networkObject is a Network of either scope.
type networkObject interface {
	resource.Managed
	Parameters() *networkv1alpha3.NetworkParameters
	Observation() *networkv1alpha3.NetworkObservation
}

// networkLives creates, changes, disturbs and deletes a network.
func networkLives(t *testing.T, w *world, n networkObject) {
	n.Parameters().Labels = map[string]string{"team": "red", "tier": "web"}
	w.Create(t, n)
	w.Settled(t, n)
	have := w.networkOf(t, n)
	if !strings.HasPrefix(have.ID, "net-") || n.Observation().ID != have.ID {
		t.Errorf("external name %q, observed id %q (R65)", have.ID, n.Observation().ID)
	}
	if mtu := n.Parameters().MTU; mtu == nil || *mtu != network.DefaultMTU {
		t.Errorf("the MTU that the cloud chose is not in the spec: %v (R150)", mtu)
	}
	if have.Labels["team"] != "red" || have.Labels[meta.ExternalLabelUID] != string(n.GetUID()) {
		t.Errorf("labels %v (P10, P15, N23)", have.Labels)
	}

	w.Change(t, n, func() {
		n.Parameters().MTU, n.Parameters().Description = new(9000), new("for the shop")
		n.Parameters().DNSServers = []string{"10.0.0.2"}
		delete(n.Parameters().Labels, "tier")
	})
	if diff := cmp.Diff(map[string]string{"team": "red"}, n.Parameters().Labels); diff != "" {
		t.Errorf("a label that was removed came back (R149) -want +got:\n%s", diff)
	}
	have = w.networkOf(t, n)
	if have.MTU != 9000 || have.Description != "for the shop" || !cmp.Equal(have.DNSServers, []string{"10.0.0.2"}) {
		t.Errorf("changes did not arrive: %+v (R39)", have)
	}

	disturbed := maps.Clone(have.Labels)
	disturbed["team"], disturbed["foreign"] = "blue", "yes"
	delete(disturbed, meta.ExternalLabelUID)
	if _, err := w.networks.Update(t.Context(), have.ID, network.UpdateNetworkInput{MTU: new(1400), Labels: disturbed}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"team": "red", "foreign": "yes", meta.ExternalLabelUID: string(n.GetUID())}
	w.Eventually(t, "the network is as declared again (R40, P15)", func(context.Context) error {
		have := w.networkOf(t, n)
		for key, value := range want {
			if have.Labels[key] != value {
				return fmt.Errorf("label %s is %q, want %q", key, have.Labels[key], value)
			}
		}
		if have.MTU != 9000 {
			return fmt.Errorf("MTU is %d", have.MTU)
		}
		return nil
	})

	w.Remove(t, n)
	if _, err := w.networks.Get(t.Context(), have.ID); !sdk.IsNotFound(err) {
		t.Errorf("the network is still there: %v (R38)", err)
	}
}

func (w *world) networkOf(t *testing.T, n networkObject) *network.Network {
	t.Helper()
	have, err := w.networks.Get(t.Context(), meta.GetExternalName(n))
	if err != nil {
		t.Fatal(err)
	}
	return have
}

// networkIsFound has an object whose creation was cut off after the cloud did the work.
func networkIsFound(t *testing.T, w *world) {
	n := w.network("found")
	n.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
	w.Create(t, n)
	mine := map[string]string{meta.ExternalLabelUID: string(n.UID)}
	made, err := w.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.0.0.0/16", Labels: mine})
	if err != nil {
		t.Fatal(err)
	}
	w.Change(t, n, func() {
		delete(n.Annotations, meta.AnnotationKeyReconciliationPaused)
		meta.SetExternalCreatePending(n, time.Now().Add(-time.Minute))
	})
	if got := meta.GetExternalName(n); got != made.ID {
		t.Errorf("external name %q, want %q", got, made.ID)
	}
	if all, err := w.networks.List(t.Context(), mine); err != nil || len(all) != 1 {
		t.Errorf("%d networks, %v", len(all), err)
	}
}

// importWithAnotherRange declares what no update can bring about.
func importWithAnotherRange(t *testing.T, w *world) {
	made, err := w.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.9.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	n := w.network("imported")
	meta.SetExternalName(n, made.ID)
	w.Create(t, n)
	w.says(t, n, `cidrBlock is immutable: it is "10.9.0.0/16"`)
}

// observedNetwork only looks: it needs no settings, takes none over and puts no label on what is not ours.
func observedNetwork(t *testing.T, w *world) {
	made, err := w.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.9.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	n := w.network("observed")
	n.Spec.ForProvider = networkv1alpha3.NetworkParameters{}
	n.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
	meta.SetExternalName(n, made.ID)
	w.Create(t, n)
	w.Settled(t, n)
	if diff := cmp.Diff(networkv1alpha3.NetworkParameters{}, n.Spec.ForProvider); diff != "" {
		t.Errorf("taken over (R152) -want +got:\n%s", diff)
	}
	if n.Status.AtProvider.CIDRBlock != "10.9.0.0/16" || len(n.Status.Drift) > 0 || n.GetCondition(xpv1.TypeInSync).Status != corev1.ConditionTrue {
		t.Errorf("status %+v (R113, P81)", n.Status)
	}
	w.Remove(t, n)
	have, err := w.networks.Get(t.Context(), made.ID)
	if err != nil || len(have.Labels) > 0 {
		t.Errorf("observing left %+v, %v (R111)", have, err)
	}
}

// ownConfiguration uses a configuration of the namespace, whose Secret has to be there too.
func ownConfiguration(t *testing.T, w *world) {
	cluster := &namespacedv1alpha3.ClusterProviderConfig{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Name: w.Namespace}, cluster); err != nil {
		t.Fatal(err)
	}
	n := w.network("own")
	n.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: "own"}
	w.Create(t, n)
	w.says(t, n, `cannot get ProviderConfig "own"`)

	own := &namespacedv1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Spec: *cluster.Spec.DeepCopy()}
	own.Spec.Credentials.SecretRef.Namespace, own.Spec.Credentials.SecretRef.Name = "default", w.Namespace
	w.Create(t, w.copyOfKey(t, "default"))
	w.Create(t, own)
	w.says(t, n, `namespace "default"`)

	base := own.DeepCopy()
	own.Spec = v1alpha3.ProviderConfigSpec{}
	cluster.Spec.DeepCopyInto(&own.Spec)
	if err := w.Client.Patch(t.Context(), own, client.MergeFrom(base)); err != nil {
		t.Fatal(err)
	}
	w.Settled(t, n)
	w.Remove(t, n) // before its configuration
}

// copyOfKey is the Secret with the cloud's key in another namespace.
func (w *world) copyOfKey(t *testing.T, namespace string) *corev1.Secret {
	t.Helper()
	key := &corev1.Secret{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: "key"}, key); err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.Namespace}, Data: key.Data}
}

// says waits until condition Synced tells what is wrong.
func (w *world) says(t *testing.T, mg resource.Managed, what string) {
	t.Helper()
	w.Eventually(t, mg.GetName()+" says what is wrong", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		if got := mg.GetCondition(xpv1.TypeSynced); !strings.Contains(got.Message, what) || got.Status != corev1.ConditionFalse {
			return fmt.Errorf("Synced: %s %q, want %q", got.Reason, got.Message, what)
		}
		return nil
	})
}

func subnetLives(t *testing.T, w *world) {
	n := w.network("of-subnet")
	w.Create(t, n)
	w.Settled(t, n)
	s := w.subnet("subnet", meta.GetExternalName(n), "10.0.1.0/24")
	w.Create(t, s)
	w.Settled(t, s)
	have, err := w.subnets.Get(t.Context(), meta.GetExternalName(s))
	if err != nil {
		t.Fatal(err)
	}
	if s.Spec.ForProvider.Zone == nil || *s.Spec.ForProvider.Zone != have.Zone || s.Status.AtProvider.Zone != have.Zone {
		t.Errorf("zone %v, want %s (R150)", s.Spec.ForProvider.Zone, have.Zone)
	}
	w.Change(t, s, func() { s.Spec.ForProvider.Labels = map[string]string{"tier": "web"} })
	have, err = w.subnets.Get(t.Context(), have.ID)
	if err != nil || have.Labels["tier"] != "web" || have.Labels[meta.ExternalLabelUID] != string(s.UID) {
		t.Errorf("%+v, %v (P15)", have, err)
	}
	w.Remove(t, s)
	if _, err := w.subnets.Get(t.Context(), have.ID); !sdk.IsNotFound(err) {
		t.Errorf("the subnet is still there: %v (R38)", err)
	}
}

func (w *world) subnet(name, networkID, cidrBlock string) *namespacednetworkv1alpha3.Subnet {
	s := &namespacednetworkv1alpha3.Subnet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	s.Spec.ProviderConfigReference = w.config()
	s.Spec.ForProvider.CIDRBlock = &cidrBlock
	if networkID != "" {
		s.Spec.ForProvider.NetworkID = &networkID
	}
	return s
}

// nodeGroupLives leaves the desired size to the cloud, which was told one at the creation.
func nodeGroupLives(t *testing.T, w *world) {
	n := w.network("of-group")
	w.Create(t, n)
	w.Settled(t, n)
	s := w.subnet("of-group", meta.GetExternalName(n), "10.0.1.0/24")
	w.Create(t, s)
	w.Settled(t, s)
	g := w.nodeGroup("workers", meta.GetExternalName(s))
	g.Spec.InitProvider.ScalingConfig = []computev1alpha3.ScalingConfig{{DesiredSize: new(2)}}
	w.Create(t, g)
	w.Settled(t, g)
	w.sizes(t, "as created (R138, R141)", g, 1, 4, 2)
	if got := g.Spec.ForProvider.ScalingConfig[0].DesiredSize; got != nil {
		t.Errorf("the desired size became a declared one: %d (R146)", *got)
	}
	if got := g.Spec.ForProvider.InstanceType; got == nil || *got != "small" {
		t.Errorf("the instance type that the cloud chose is not in the spec: %v (R150)", got)
	}

	if _, err := w.groups.Autoscale(t.Context(), "workers", 3); err != nil {
		t.Fatal(err)
	}
	w.Change(t, g, func() { g.Spec.ForProvider.ScalingConfig[0].MaxSize = new(6) })
	w.sizes(t, "after an update of another field (R143, R144)", g, 1, 6, 3)

	w.Remove(t, g)
	if _, err := w.groups.Get(t.Context(), "workers"); !sdk.IsNotFound(err) {
		t.Errorf("the node group is still there: %v (R38)", err)
	}
	w.Remove(t, s) // before its network
}

// nodeGroup has one to four machines.
func (w *world) nodeGroup(name string, subnetIDs ...string) *computev1alpha3.NodeGroup {
	g := &computev1alpha3.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	g.Spec.ProviderConfigReference = w.config()
	g.Spec.ForProvider.SubnetIDs = subnetIDs
	g.Spec.ForProvider.ScalingConfig = []computev1alpha3.ScalingConfig{{MinSize: new(1), MaxSize: new(4)}}
	return g
}

func (w *world) sizes(t *testing.T, when string, g *computev1alpha3.NodeGroup, smallest, largest, desired int) {
	t.Helper()
	have, err := w.groups.Get(t.Context(), meta.GetExternalName(g))
	if err != nil {
		t.Fatal(err)
	}
	want := []int{smallest, largest, desired}
	c := have.ScalingConfig[0]
	if diff := cmp.Diff(want, []int{c.MinSize, c.MaxSize, c.DesiredSize}); diff != "" {
		t.Errorf("%s: smallest, largest, desired size -want +got:\n%s", when, diff)
	}
}
