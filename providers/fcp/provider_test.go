// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

func TestProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, managed.WithSecretInputInterval(time.Second))
	for name, test := range map[string]func(*testing.T, *world){
		"cluster network (R38 R39 R40 R65 R149 R150 P10 P11 P15 N23)":                     func(t *testing.T, w *world) { networkLives(t, w, w.clusterNetwork()) },
		"namespaced network (R38 R39 R40 R65 R149 R150 P10 P12 P15 N23)":                  func(t *testing.T, w *world) { networkLives(t, w, w.network("life")) },
		"network that a controller creates (K16 P11 P12)":                                 networkOfController,
		"subnet that is imported without settings (P44 R150)":                             importedSubnet,
		"node group (K10 P22 P32 P33 P34 R39 R138 R141 R143 R144 R146 R150)":              nodeGroupLives,
		"database with its settings in initProvider (D19 R138 R146)":                      initialDatabase,
		"database that is deleted in the cloud (N38)":                                     lostDatabase,
		"database that another person replaces in the cloud (N63)":                        replacedDatabase,
		"password of a database that the cloud generates (P62 P65 R39 R150 R211)":         func(t *testing.T, w *world) { generatedPassword(t, w, w.databaseServer("generated-database")) },
		"password of a cache that the cloud generates (P62 P65 R39 R150 R211)":            func(t *testing.T, w *world) { generatedPassword(t, w, w.cacheServer("generated-cache")) },
		"password of a database that the user chooses (P61 P64 R221)":                     func(t *testing.T, w *world) { chosenPassword(t, w, w.databaseServer("chosen-database")) },
		"password of a cache that the user chooses (P61 P64 R221)":                        func(t *testing.T, w *world) { chosenPassword(t, w, w.cacheServer("chosen-cache")) },
		"two clouds with a project of the same name (N55 N60)":                            twoClouds,
		"default configurations of both scopes (N1 N2 R227 R228 R229)":                    defaultConfigs,
		"configuration, Secret, key and client that cannot be read or created (R19 R227)": wrongConfigs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
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
		t.Errorf("changes are not sent: %+v (R39)", have)
	}

	theirs := maps.Clone(have.Labels)
	theirs["team"], theirs["foreign"] = "blue", "yes"
	delete(theirs, meta.ExternalLabelUID)
	if _, err := w.networks.Update(t.Context(), have.ID, network.UpdateNetworkInput{MTU: new(1400), Labels: theirs}); err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(have.Labels)
	want["foreign"] = "yes"
	w.Eventually(t, "the network is as declared again (R40, P15)", func(context.Context) error {
		have := w.networkOf(t, n)
		if diff := cmp.Diff(want, have.Labels); diff != "" || have.MTU != 9000 {
			return fmt.Errorf("MTU %d, labels -want +got:\n%s", have.MTU, diff)
		}
		return nil
	})
	w.Remove(t, n)
	if _, err := w.networks.Get(t.Context(), have.ID); !sdk.IsNotFound(err) {
		t.Errorf("the network still exists: %v (R38)", err)
	}
}

// networkOfController has another controller create a network, with a generated name and an owner.
func networkOfController(t *testing.T, w *world) {
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}
	w.Create(t, owner)
	as := rest.CopyConfig(w.Config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "other-controller", Groups: []string{"system:masters"}}
	other, err := client.New(as, client.Options{Scheme: w.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	n := w.network("")
	n.GenerateName, n.Namespace = "myapp-mynetwork-", w.Namespace
	n.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))}
	if err := other.Create(t.Context(), n, client.FieldOwner("other-controller")); err != nil {
		t.Fatal(err)
	}
	w.Settled(t, n)
	want := map[string]string{
		"crossplane-kind": "network.network.fcp.m.crossplane.io", "crossplane-name": n.GetName(),
		"crossplane-provider": w.Namespace, meta.ExternalLabelUID: string(n.GetUID()),
		meta.ExternalLabelNamespace: w.Namespace,
	}
	if diff := cmp.Diff(want, w.networkOf(t, n).Labels); diff != "" {
		t.Errorf("labels (P11, P12) -want +got:\n%s", diff)
	}
	w.Remove(t, n)
}

// importedSubnet declares nothing of what creating a subnet needs.
func importedSubnet(t *testing.T, w *world) {
	n, err := w.networks.Create(t.Context(), network.CreateNetworkInput{CIDRBlock: "10.3.0.0/16"})
	if err != nil {
		t.Fatal(err)
	}
	have, err := w.subnets.Create(t.Context(), subnet.CreateSubnetInput{NetworkID: n.ID, CIDRBlock: "10.3.1.0/24"})
	if err != nil {
		t.Fatal(err)
	}
	s := w.subnet("imported", "", "")
	s.Spec.ForProvider.CIDRBlock = nil
	s.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve, xpv1.ManagementActionLateInitialize}
	meta.SetExternalName(s, have.ID)
	w.Create(t, s)
	w.Settled(t, s)
	p := s.Spec.ForProvider
	if diff := cmp.Diff([]*string{&n.ID, &have.CIDRBlock, &have.Zone}, []*string{p.NetworkID, p.CIDRBlock, p.Zone}); diff != "" {
		t.Errorf("late-initialized -want +got:\n%s", diff)
	}
}

// nodeGroupLives leaves the desired size to the cloud, and has structs with settings and reports.
func nodeGroupLives(t *testing.T, w *world) {
	n := w.network("of-group")
	w.Create(t, n)
	w.Settled(t, n)
	s := w.subnet("of-group", meta.GetExternalName(n), "10.0.1.0/24")
	w.Create(t, s)
	w.Settled(t, s)
	g := w.nodeGroup("workers", meta.GetExternalName(s))
	g.Spec.InitProvider.ScalingConfig = []computev1alpha3.ScalingConfig{{DesiredSize: new(2)}}
	g.Spec.InitProvider.Upgrade = &computev1alpha3.UpgradeSpec{MaxUnavailable: new(2)}
	w.Create(t, g)
	w.Settled(t, g)
	w.groupIs(t, "as created (R138, R141)", nodegroup.ScalingConfig{MinSize: 1, MaxSize: 4, DesiredSize: 2}, nodegroup.DefaultStrategy, 2, true)
	want := computev1alpha3.NodeGroupParameters{
		SubnetIDs: g.Spec.ForProvider.SubnetIDs, InstanceType: new("small"), Repair: &computev1alpha3.Repair{Enabled: true},
		ScalingConfig: []computev1alpha3.ScalingConfig{{MinSize: new(1), MaxSize: new(4)}},
		Upgrade:       &computev1alpha3.UpgradeSpec{Strategy: new(nodegroup.DefaultStrategy)},
	}
	if diff := cmp.Diff(want, g.Spec.ForProvider); diff != "" {
		t.Errorf("late-initialized (R146, R150, P33) -want +got:\n%s", diff)
	}

	if _, err := w.groups.Autoscale(t.Context(), "workers", 3); err != nil {
		t.Fatal(err)
	}
	w.Change(t, g, func() {
		p := &g.Spec.ForProvider
		p.ScalingConfig[0].MaxSize, p.Repair.Enabled, p.InstanceType = new(6), false, new("large")
		p.Upgrade = &computev1alpha3.UpgradeSpec{Strategy: new(nodegroup.StrategyRecreate), MaxUnavailable: new(3)}
	})
	w.groupIs(t, "after an update of other fields (R39, R143, R144, P33, P34)",
		nodegroup.ScalingConfig{MinSize: 1, MaxSize: 6, DesiredSize: 3}, nodegroup.StrategyRecreate, 3, false)
	w.Eventually(t, "the upgrade is observed (K10, P32)", func(ctx context.Context) error {
		have, err := w.groups.Get(ctx, "workers")
		if err != nil {
			return err
		}
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			return err
		}
		u := g.Status.AtProvider.Upgrade
		if u == nil || u.Version != have.Upgrade.Version || u.LastUpgradeAt == nil || !u.LastUpgradeAt.Time.Equal(*have.Upgrade.LastUpgradeAt) {
			return fmt.Errorf("atProvider.upgrade is %+v, want %+v", u, have.Upgrade)
		}
		return nil
	})

	before := g.Status.AtProvider
	if err := w.Client.Status().Patch(t.Context(), g, client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "a lost status is observed again (P22)", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(g), g); err != nil {
			return err
		}
		if diff := cmp.Diff(before, g.Status.AtProvider); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	w.Remove(t, g)
	if _, err := w.groups.Get(t.Context(), "workers"); !sdk.IsNotFound(err) {
		t.Errorf("the node group still exists: %v (R38)", err)
	}
	w.Remove(t, s) // before its network
}

func (w *world) groupIs(t *testing.T, when string, size nodegroup.ScalingConfig, strategy string, maxUnavailable int, repaired bool) {
	t.Helper()
	have, err := w.groups.Get(t.Context(), "workers")
	if err != nil {
		t.Fatal(err)
	}
	got := []any{have.ScalingConfig, have.Upgrade.Strategy, have.Upgrade.MaxUnavailable, have.Repair.Enabled}
	if diff := cmp.Diff([]any{[]nodegroup.ScalingConfig{size}, strategy, maxUnavailable, repaired}, got); diff != "" {
		t.Errorf("%s: -want +got:\n%s", when, diff)
	}
}

func initialDatabase(t *testing.T, w *world) {
	db := w.database("initial")
	db.Spec.ForProvider.FancinessLevel = 0
	db.Spec.InitProvider = databasev1alpha3.FavouriteDBInstanceInitParameters{Name: "by-init", FancinessLevel: 15}
	w.Create(t, db)
	w.Settled(t, db)
	if got := meta.GetExternalName(db); got != "by-init" {
		t.Errorf("external name %q (D19)", got)
	}
	have, err := database.NewClient(w.cloud).Get(t.Context(), "by-init")
	if err != nil || have.FancinessLevel != 15 || db.Spec.ForProvider.FancinessLevel != 0 {
		t.Errorf("%+v, %v, declared %d (R138, R146)", have, err, db.Spec.ForProvider.FancinessLevel)
	}
}

// lostDatabase is not replaced by an empty one before a person permits it.
func lostDatabase(t *testing.T, w *world) {
	db := w.database("lost")
	w.Create(t, db)
	w.Settled(t, db)
	name, servers := meta.GetExternalName(db), database.NewClient(w.cloud)
	if err := servers.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	w.isLost(t, db)
	if _, err := servers.Get(t.Context(), name); !sdk.IsNotFound(err) {
		t.Errorf("it was created again: %v", err)
	}
	w.Change(t, db, func() { db.Annotations[meta.AnnotationKeyRecreate] = string(db.UID) })
	if _, err := servers.Get(t.Context(), name); err != nil {
		t.Errorf("it was not created again: %v", err)
	}
}

// isLost waits until a database reports that its data is lost.
func (w *world) isLost(t *testing.T, db *databasev1alpha3.FavouriteDBInstance) {
	t.Helper()
	w.Eventually(t, "the loss is reported", func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(db), db)
		if ready := db.GetCondition(xpv1.TypeReady); err != nil || ready.Reason != xpv1.ReasonResourceLost {
			return fmt.Errorf("%v, error %w", ready, err)
		}
		return nil
	})
}

// replacedDatabase is deleted in the cloud, where another person then creates one of the same name, which stays theirs.
func replacedDatabase(t *testing.T, w *world) {
	db := w.database("replaced")
	w.Create(t, db)
	w.Settled(t, db)
	name, servers := meta.GetExternalName(db), database.NewClient(w.cloud)
	if err := servers.Delete(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "another one has the name", func(ctx context.Context) error {
		_, err := servers.Create(ctx, database.CreateInstanceInput{Name: name, FancinessLevel: 20})
		return err
	})
	w.isLost(t, db)
	w.Eventually(t, "it is reported as another one", func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(db), db)
		if synced := db.GetCondition(xpv1.TypeSynced); err != nil || !strings.Contains(synced.Message, "was replaced: it has the id") {
			return fmt.Errorf("%v, error %w", synced, err)
		}
		return nil
	})
	w.Remove(t, db)
	if have, err := servers.Get(t.Context(), name); err != nil || have.Status == sdk.StatusDeleting || len(have.Labels) > 0 {
		t.Errorf("the database of somebody else is %+v, error %v", have, err)
	}
}

// A server is an object with a real server, to which clients connect with a password.
type server struct {
	object interface {
		resource.Managed
		resource.ConnectionSecretWriterTo
	}
	keys   []string            // of the connection Secret
	choose func(secret string) // the password
	grow   func(by int)        // changes a setting
	opens  func(ctx context.Context, secret map[string][]byte) error
}

func (w *world) databaseServer(name string) server {
	db := w.database(name)
	return server{
		object: db, keys: []string{"database", "endpoint", "password", "port", "username"},
		choose: func(secret string) { db.Spec.ForProvider.PasswordSecretRef = w.passwordIn(secret) },
		grow:   func(by int) { db.Spec.ForProvider.FancinessLevel += by },
		opens: func(ctx context.Context, secret map[string][]byte) error {
			conn, err := connectSQL(ctx, secret)
			if err != nil {
				return err
			}
			return errors.Join(conn.Ping(ctx), conn.Close(ctx))
		},
	}
}

func connectSQL(ctx context.Context, secret map[string][]byte) (*pgx.Conn, error) {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(string(secret["username"]), string(secret["password"])),
		Host: net.JoinHostPort(string(secret["endpoint"]), string(secret["port"])), Path: string(secret["database"]),
	}
	return pgx.Connect(ctx, u.String())
}

func (w *world) cacheServer(name string) server {
	c := w.cache(name)
	return server{
		object: c, keys: []string{"endpoint", "password", "port", "username"},
		choose: func(secret string) { c.Spec.ForProvider.PasswordSecretRef = w.passwordIn(secret) },
		grow:   func(by int) { *c.Spec.ForProvider.MemoryMegabytes += by },
		opens: func(ctx context.Context, secret map[string][]byte) error {
			address := net.JoinHostPort(string(secret["endpoint"]), string(secret["port"]))
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
			if err != nil {
				return err
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "AUTH %s %s\r\n", secret["username"], secret["password"]); err != nil {
				return err
			}
			if reply, err := bufio.NewReader(conn).ReadString('\n'); err != nil || reply != "+OK\r\n" {
				return fmt.Errorf("the server replies %q, %w", reply, err)
			}
			return nil
		},
	}
}

func (w *world) passwordIn(secret string) *xpv1.SecretKeySelector {
	return &xpv1.SecretKeySelector{Namespace: w.Namespace, Name: secret, Key: "password"}
}

// start creates a server whose connection Secret has its name.
func (w *world) start(t *testing.T, s server) {
	t.Helper()
	s.object.SetWriteConnectionSecretToReference(&xpv1.SecretReference{Namespace: w.Namespace, Name: s.object.GetName()})
	w.Create(t, s.object)
	w.Settled(t, s.object)
}

// serves waits until the connection Secret opens the server, and returns it. The password is that one, if given.
func (w *world) serves(t *testing.T, s server, password string) (data map[string][]byte) {
	t.Helper()
	w.Eventually(t, "the connection Secret opens the server", func(ctx context.Context) error {
		secret := &corev1.Secret{}
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: s.object.GetName()}, secret); err != nil {
			return err
		}
		if data = secret.Data; password != "" && string(data["password"]) != password {
			return errors.New("it has another password")
		}
		return s.opens(ctx, data)
	})
	return data
}

func generatedPassword(t *testing.T, w *world, s server) {
	w.start(t, s)
	first := w.serves(t, s, "")
	if diff := cmp.Diff(s.keys, slices.Sorted(maps.Keys(first))); diff != "" || len(first["password"]) < 16 {
		t.Errorf("password of %d characters; keys (R211) -want +got:\n%s", len(first["password"]), diff)
	}
	for range 2 {
		w.Change(t, s.object, func() { s.grow(8) })
		w.serves(t, s, string(first["password"]))
	}
	w.Remove(t, s.object)
	if err := s.opens(t.Context(), first); err == nil {
		t.Error("the server still exists (R38)")
	}
}

func chosenPassword(t *testing.T, w *world, s server) {
	chosen := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: s.object.GetName() + "-input"}, StringData: map[string]string{"password": "first-choice"}}
	w.Create(t, chosen)
	s.choose(chosen.Name)
	w.start(t, s)
	w.serves(t, s, "first-choice")
	chosen.StringData = map[string]string{"password": "second-choice"}
	if err := w.Client.Update(t.Context(), chosen); err != nil {
		t.Fatal(err)
	}
	w.serves(t, s, "second-choice")
	w.Remove(t, s.object) // before the Secret that it refers to
}

// defaultConfigs has objects that name no configuration, while there are others too.
func defaultConfigs(t *testing.T, w *world) {
	c := newCloud(t)
	w.keySecret(t, "of-default", c.key(t, "default"))
	spec := w.settings(c.endpoint, "default", "of-default")
	w.Create(t, &v1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec})
	w.Create(t, &namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: spec})
	cluster, namespaced := w.clusterNetwork(), w.network("by-default")
	cluster.Name += "-by-default"
	cluster.Spec.ProviderConfigReference, namespaced.Spec.ProviderConfigReference = nil, nil
	theirs := network.NewClient(c.client(t, "default", c.key(t, "default")))
	for _, n := range []networkObject{cluster, namespaced} {
		w.Create(t, n)
		w.Settled(t, n)
		if _, err := theirs.Get(t.Context(), meta.GetExternalName(n)); err != nil {
			t.Errorf("%s is not where the default configuration leads: %v", n.GetName(), err)
		}
	}
}

// wrongConfigs breaks each step of connecting.
func wrongConfigs(t *testing.T, w *world) {
	w.keySecret(t, "malformed", "two words")
	noKey := w.settings(w.endpoint, project, "malformed")
	noKey.Credentials.SecretRef.Key = "password"
	for name, tc := range map[string]struct {
		config *v1alpha3.ProviderConfigSpec
		words  string
	}{
		"no-config": {nil, `cannot get ProviderConfig "no-config"`},
		"no-secret": {new(w.settings(w.endpoint, project, "nothing")), `cannot get credentials of ProviderConfig "no-secret"`},
		"no-key":    {&noKey, `cannot get credentials of ProviderConfig "no-key"`},
		"no-client": {new(w.settings(w.endpoint, project, "malformed")), `cannot create client of ProviderConfig "no-client"`},
	} {
		if tc.config != nil {
			w.Create(t, &namespacedv1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: *tc.config})
		}
		n := w.network("of-" + name)
		n.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: name}
		n.Spec.DeletionPolicy = xpv1.DeletionOrphan // it can be deleted although the cloud cannot be reached
		w.Create(t, n)
		w.reports(t, n, tc.words)
	}
}
