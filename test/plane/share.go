// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	sqlv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
)

// Share starts a PostgreSQL server for many tenants, with settings such as "max_connections=40", and refers provider sql's
// ProviderConfig default to it. The server ends with the test.
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
	config.Spec.Credentials = xpv1.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{
			Namespace: Namespace, Name: login.Name, Key: xpv1.ResourceCredentialsSecretPasswordKey,
		},
	}
	p.Create(t, login, config)
	return server
}

// FavouriteClass returns a class whose claims get a server of their own. Connection Secrets of the managed resources are in namespace.
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
