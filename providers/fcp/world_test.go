// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
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
	spec := v1alpha3.ProviderConfigSpec{ProjectID: project, Endpoint: w.endpoint}
	spec.Credentials = xpv1.ProviderCredentials{
		Source:    xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{Namespace: w.Namespace, Name: "key", Key: "key"},
	}
	w.Create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "key"}, StringData: map[string]string{"key": key}})
	w.Create(t, &v1alpha3.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Spec: spec})
	w.Create(t, &namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}, Spec: spec})
	return w
}

// startCloud returns an API key of the project.
func (w *world) startCloud(t *testing.T) string {
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
	w.endpoint = server.URL()
	token, err := favouritecloud.ReadAdminToken(settings.DataDir)
	if err != nil {
		t.Fatal(err)
	}
	if w.admin, err = sdk.NewAdminClient(w.endpoint, token); err != nil {
		t.Fatal(err)
	}
	key, err := sdk.CreateKey(t.Context(), w.endpoint, token, project)
	if err != nil {
		t.Fatal(err)
	}
	c, err := sdk.NewClient(sdk.Config{Endpoint: w.endpoint, Project: project, APIKey: key.Key})
	if err != nil {
		t.Fatal(err)
	}
	w.cloud = c
	w.networks, w.subnets, w.groups = network.NewClient(c), subnet.NewClient(c), nodegroup.NewClient(c)
	return key.Key
}
