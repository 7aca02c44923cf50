// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
)

// Inspect returns direct access to the project of a key of it.
func (p *Plane) Inspect(t testing.TB, key string) *inspect.Project {
	t.Helper()
	project, err := inspect.NewProject(p.Cloud, Project, key)
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// Admin returns a client that injects faults into the cloud and counts its calls. The plane needs the argument --cloud-admin.
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

// ConnectEverywhere creates configurations named default for objects of every scope and namespace, and returns direct access to
// their project.
func (p *Plane) ConnectEverywhere(t testing.TB) *inspect.Project {
	t.Helper()
	const name = "default"
	key := p.NewKey(t, Project)
	p.Connect(t, name, key)
	everywhere := &namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: p.Config(name).Spec}
	if err := p.Client.Create(t.Context(), everywhere); err != nil {
		t.Fatal(err)
	}
	return p.Inspect(t, key)
}
