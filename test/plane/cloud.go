// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/meta"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
	sqlv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
	"github.com/bowline-dev/bowline/test/inspect"
)

// Namespace holds the Secrets of a plane's tests.
const Namespace = "default"

// Project of the cloud that a plane's tests use.
const Project = "demo"

// NewKey creates an API key of the project.
func (p *Plane) NewKey(t testing.TB, project string) string {
	t.Helper()
	out, err := p.Run(t.Context(), "cloud", "key", "create", "--project", project)
	if err != nil {
		t.Fatalf("creating a key: %v\n%s", err, out)
	}
	return strings.TrimSpace(out)
}

// Connect creates a ProviderConfig with the key as credentials.
func (p *Plane) Connect(t testing.TB, name, key string) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "credentials-" + name},
		StringData: map[string]string{"key": key},
	}
	p.Create(t, secret, p.Config(name))
}

// manyDeletions has the tests delete as many objects as they like.
func manyDeletions() *xpv1.CallLimits { return &xpv1.CallLimits{DeletionsPerMinute: new(int32(0))} }

// Config returns a ProviderConfig of the plane's own cloud whose credentials are in the Secret credentials-NAME.
func (p *Plane) Config(name string) *v1alpha3.ProviderConfig {
	return &v1alpha3.ProviderConfig{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha3.ProviderConfigSpec{
			ProjectID: Project,
			Endpoint:  p.Cloud,
			ProviderSpec: xpv1.ProviderSpec{
				Credentials: xpv1.ProviderCredentials{
					Source:    xpv1.CredentialsSourceSecret,
					SecretRef: &xpv1.SecretKeySelector{Namespace: Namespace, Name: "credentials-" + name, Key: "key"},
				},
				Limits: manyDeletions(),
			},
		},
	}
}

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

// ConnectEverywhere creates configurations named default of both scopes, and returns direct access to their project.
func (p *Plane) ConnectEverywhere(t testing.TB) *inspect.Project {
	t.Helper()
	const name = "default"
	key := p.NewKey(t, Project)
	p.Connect(t, name, key)
	everywhere := &namespacedv1alpha3.ClusterProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: p.Config(name).Spec}
	p.Create(t, everywhere)
	return p.Inspect(t, key)
}

// Database returns a database instance whose connection Secret has its name. It may be deleted, with its data.
func Database(name string, fanciness int) *databasev1alpha3.FavouriteDBInstance {
	return &databasev1alpha3.FavouriteDBInstance{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{meta.AnnotationKeyProtect: "false"}},
		Spec: databasev1alpha3.FavouriteDBInstanceSpec{
			ResourceSpec: xpv1.ResourceSpec{
				WriteConnectionSecretToReference: &xpv1.SecretReference{Namespace: Namespace, Name: name},
			},
			ForProvider: databasev1alpha3.FavouriteDBInstanceParameters{Name: name, FancinessLevel: fanciness},
		},
	}
}

// Works returns nil if the database is Ready, and its connection Secret opens a server with max_connections as declared.
func (p *Plane) Works(ctx context.Context, name string) error {
	db := &databasev1alpha3.FavouriteDBInstance{}
	db.Name = name
	if err := p.Settled(ctx, db); err != nil {
		return err
	}
	level, err := p.MaxConnections(ctx, name)
	if err != nil {
		return err
	}
	if level != fmt.Sprint(db.Spec.ForProvider.FancinessLevel) {
		return fmt.Errorf("max_connections is %s, want %d", level, db.Spec.ForProvider.FancinessLevel)
	}
	return nil
}

// MaxConnections returns max_connections of the server that the connection Secret opens.
func (p *Plane) MaxConnections(ctx context.Context, name string) (level string, err error) {
	secret := &corev1.Secret{}
	if err := p.Client.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, secret); err != nil {
		return "", err
	}
	conn, err := inspect.Connect(ctx, secret.Data)
	if err != nil {
		return "", err
	}
	err = conn.QueryRow(ctx, "show max_connections").Scan(&level)
	return level, errors.Join(err, conn.Close(ctx))
}

// Gone returns nil if neither the database nor its connection Secret exists.
func (p *Plane) Gone(ctx context.Context, name string) error {
	db := &databasev1alpha3.FavouriteDBInstance{}
	if err := p.Client.Get(ctx, client.ObjectKey{Name: name}, db); !apierrors.IsNotFound(err) {
		return fmt.Errorf("object %s is not deleted: %v, conditions %+v", name, err, db.Status.Conditions)
	}
	if _, err := p.Secret(ctx, Namespace, name); !apierrors.IsNotFound(err) {
		return fmt.Errorf("secret %s is not deleted: %v", name, err)
	}
	return nil
}

// Share starts a PostgreSQL server with settings such as "max_connections=40" for the test: provider sql's config default.
func (p *Plane) Share(t testing.TB, settings ...string) *postgresql.Server {
	t.Helper()
	started, err := postgresqltest.Start(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := started.Config()
	server, err := postgresql.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "shared-server"}, StringData: map[string]string{
		xpv1.ResourceCredentialsSecretEndpointKey: c.Endpoint,
		xpv1.ResourceCredentialsSecretPortKey:     strconv.Itoa(c.Port),
		xpv1.ResourceCredentialsSecretUserKey:     c.Username,
		xpv1.ResourceCredentialsSecretPasswordKey: string(c.Password),
	}}
	config := &sqlv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	config.Spec.Limits = manyDeletions()
	config.Spec.Credentials = xpv1.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{
			Namespace: Namespace, Name: login.Name, Key: xpv1.ResourceCredentialsSecretPasswordKey,
		},
	}
	p.Create(t, login, config)
	return server
}

// FavouriteClass returns a class whose claims get a server of their own. Connection Secrets of the managed resources are in
// namespace.
func FavouriteClass(name, namespace string, labels map[string]string) *databasev1alpha3.FavouriteDBInstanceClass {
	c := &databasev1alpha3.FavouriteDBInstanceClass{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	c.SetWriteConnectionSecretsToNamespace(namespace)
	c.SpecTemplate.ForProvider.FancinessLevel = 10
	return c
}

// TenantClass returns a class whose claims get a database of the shared server.
func TenantClass(name, namespace string, labels map[string]string) *sqlv1alpha1.TenantDatabaseClass {
	c := &sqlv1alpha1.TenantDatabaseClass{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	c.SetWriteConnectionSecretsToNamespace(namespace)
	return c
}
