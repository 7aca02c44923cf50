// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/compute/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	namespacedcomputev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
	"github.com/bowline-dev/bowline/providertest"
)

func TestMain(m *testing.M) { os.Exit(providertest.Main(m, fcp.Provider())) }

const project = "demo"

// A world is a favourite cloud, a namespace of the shared API server and the provider's controllers between the two.
type world struct {
	*providertest.World
	cloudDir string
	endpoint string
	cloud    *sdk.Client
	networks *network.Client
	subnets  *subnet.Client
	groups   *nodegroup.Client
	admin    *sdk.AdminClient
}

// newWorld has a configuration for each scope, named as the world's namespace. Without options controllers look often.
func newWorld(t *testing.T, o ...managed.ReconcilerOption) *world {
	t.Helper()
	w := &world{World: providertest.New(t, fcp.Provider())}
	key := w.startCloud(t)
	w.Start(t, o...) // before the configurations are made: they are gone before the controllers stop
	w.keySecret(t, "key", key)
	spec := w.settings(w.endpoint, project, "key")
	w.Create(t, &v1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Spec: spec})
	w.Create(t, &namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Spec: spec})
	return w
}

// startCloud returns an API key of the project.
func (w *world) startCloud(t *testing.T) string {
	t.Helper()
	c := newCloud(t)
	var err error
	if w.admin, err = sdk.NewAdminClient(c.endpoint, c.token); err != nil {
		t.Fatal(err)
	}
	key := c.key(t, project)
	w.cloudDir, w.endpoint, w.cloud = c.dir, c.endpoint, c.client(t, project, key)
	w.networks, w.subnets, w.groups = network.NewClient(w.cloud), subnet.NewClient(w.cloud), nodegroup.NewClient(w.cloud)
	return key
}

// A cloud has keys and projects of its own.
type cloud struct{ dir, endpoint, token string }

func newCloud(t *testing.T) cloud {
	t.Helper()
	root, err := testkit.Make("build")
	if err != nil {
		t.Fatal(err)
	}
	settings := favouritecloud.Config{
		DataDir: t.TempDir(), Listen: "127.0.0.1:0", AutoscaleInterval: time.Hour, CloudAdmin: true,
		KubernetesSearchPath: []string{filepath.Join(root, "bin")},
	}
	server, err := favouritecloud.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // when it has stopped; the data of its servers may be outside of its data folder
		if err := favouritecloud.Remove(settings.DataDir); err != nil {
			t.Error(err)
		}
	})
	controlplanetest.Run(t, server.Run)
	select {
	case <-server.Ready():
	case <-time.After(30 * time.Second):
		t.Fatal("the cloud does not start")
	}
	token, err := favouritecloud.ReadAdminToken(settings.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	return cloud{settings.DataDir, server.URL(), token}
}

// key returns a new key of a project.
func (c cloud) key(t *testing.T, project string) string {
	t.Helper()
	key, err := sdk.CreateKey(t.Context(), c.endpoint, c.token, project)
	if err != nil {
		t.Fatal(err)
	}
	return key.Key
}

func (c cloud) client(t *testing.T, project, key string) *sdk.Client {
	t.Helper()
	client, err := sdk.NewClient(sdk.Config{Endpoint: c.endpoint, Project: project, APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// keySecret creates a Secret of the world's namespace with a key.
func (w *world) keySecret(t *testing.T, name, key string) {
	t.Helper()
	w.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: map[string]string{"key": key}})
}

// settings refer to a project of the cloud with the key in a Secret of the world's namespace.
func (w *world) settings(endpoint, project, secret string) v1alpha3.ProviderConfigSpec {
	spec := v1alpha3.ProviderConfigSpec{ProjectID: project, Endpoint: endpoint}
	spec.Credentials = xpv1.ProviderCredentials{
		Source:    xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{Namespace: w.Namespace, Name: secret, Key: "key"},
	}
	return spec
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
type networkObject = kind.Object[networkv1alpha3.NetworkParameters, networkv1alpha3.NetworkObservation]

func (w *world) networkOf(t *testing.T, n networkObject) *network.Network {
	t.Helper()
	have, err := w.networks.Get(t.Context(), meta.GetExternalName(n))
	if err != nil {
		t.Fatal(err)
	}
	return have
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

// nodeGroup has one to four machines.
func (w *world) nodeGroup(name string, subnetIDs ...string) *namespacedcomputev1alpha3.NodeGroup {
	g := &namespacedcomputev1alpha3.NodeGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	g.Spec.ProviderConfigReference = w.config()
	g.Spec.ForProvider.SubnetIDs = subnetIDs
	g.Spec.ForProvider.ScalingConfig = []namespacedcomputev1alpha3.ScalingConfig{{MinSize: new(1), MaxSize: new(4)}}
	return g
}

// database has a real server.
func (w *world) database(name string) *databasev1alpha3.FavouriteDBInstance {
	db := &databasev1alpha3.FavouriteDBInstance{ObjectMeta: metav1.ObjectMeta{Name: w.Prefix + name}}
	db.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: w.Namespace}
	db.Spec.ForProvider.FancinessLevel = 10
	return db
}

// cache has a real server.
func (w *world) cache(name string) *cachev1alpha3.CacheInstance {
	c := &cachev1alpha3.CacheInstance{ObjectMeta: metav1.ObjectMeta{Name: w.Prefix + name}}
	c.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: w.Namespace}
	c.Spec.ForProvider.MemoryMegabytes = new(8)
	return c
}

func (w *world) cluster(name string) *computev1alpha3.FavouriteCluster {
	c := &computev1alpha3.FavouriteCluster{ObjectMeta: metav1.ObjectMeta{
		Name: w.Prefix + name, Annotations: map[string]string{meta.AnnotationKeyProtect: "false"},
	}}
	c.Spec.ProviderConfigReference = &xpv1.ProviderConfigReference{Name: w.Namespace}
	return c
}

// reports waits until the message of condition Synced contains a text.
func (w *world) reports(t *testing.T, mg resource.Managed, text string) {
	t.Helper()
	w.Eventually(t, mg.GetName()+" reports an error", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		if got := mg.GetCondition(xpv1.TypeSynced); !strings.Contains(got.Message, text) || got.Status != corev1.ConditionFalse {
			return fmt.Errorf("Synced: %s %q, want %q", got.Reason, got.Message, text)
		}
		return nil
	})
}

// A recorder is a manager that records the names of the controllers that are added to it.
type recorder struct {
	ctrl.Manager
	names []string
}

// Add satisfies ctrl.Manager.
func (r *recorder) Add(runnable manager.Runnable) error {
	if v := reflect.Indirect(reflect.ValueOf(runnable)); v.Kind() == reflect.Struct && v.FieldByName("Name").Kind() == reflect.String {
		r.names = append(r.names, v.FieldByName("Name").String())
	}
	return r.Manager.Add(runnable)
}

func TestControllers(t *testing.T) {
	t.Parallel()
	s := runtime.NewScheme()
	if err := fcp.Provider().AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(controlplanetest.Config(t), ctrl.Options{
		Scheme: s, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)}, // the process has other managers with the same controllers
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{Manager: mgr}
	if err := fcp.Provider().SetupWithManager(r); err != nil {
		t.Fatal(err)
	}
	t.Run("each kind has one controller with its name (A73 R9 R15 T41)", func(t *testing.T) {
		for gvk, typ := range s.AllKnownTypes() {
			object := reflect.New(typ).Interface()
			_, isManaged := object.(resource.Managed)
			_, isConfig := object.(resource.ProviderConfig)
			_, isClass := object.(resource.Class)
			named := func(name string) bool { return name == strings.ToLower(gvk.GroupKind().String()) }
			i := slices.IndexFunc(r.names, named)
			wanted := isManaged || isConfig || isClass && i >= 0 // that of a class needs its claims, which other tests on this server install
			if wanted != (i >= 0) || i >= 0 && slices.ContainsFunc(r.names[i+1:], named) {
				t.Errorf("no or several controllers for %s among %v", gvk, r.names)
			}
		}
	})
}
