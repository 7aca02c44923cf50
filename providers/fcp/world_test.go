// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"os"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/nodegroup"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/subnet"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/fcp"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
	"github.com/bowline-dev/bowline/providertest"
)

func TestMain(m *testing.M) { os.Exit(providertest.Main(m, fcp.Provider())) }

const project = "demo"

// A world is a favourite cloud, a namespace of the shared API server and the provider's controllers between the two.
type world struct {
	*providertest.World
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
	w.endpoint, w.cloud = c.endpoint, c.client(t, project, key)
	w.networks, w.subnets, w.groups = network.NewClient(w.cloud), subnet.NewClient(w.cloud), nodegroup.NewClient(w.cloud)
	return key
}

// A cloud has keys and projects of its own.
type cloud struct{ endpoint, token string }

func newCloud(t *testing.T) cloud {
	t.Helper()
	settings := favouritecloud.Config{DataDir: t.TempDir(), Listen: "127.0.0.1:0", AutoscaleInterval: time.Hour, CloudAdmin: true}
	server, err := favouritecloud.New(settings)
	if err != nil {
		t.Fatal(err)
	}
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
	return cloud{server.URL(), token}
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

func (c cloud) networks(t *testing.T, project string) *network.Client {
	t.Helper()
	return network.NewClient(c.client(t, project, c.key(t, project)))
}
