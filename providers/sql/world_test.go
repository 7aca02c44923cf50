// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"os"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
	"github.com/bowline-dev/bowline/providertest"
)

func TestMain(m *testing.M) { os.Exit(providertest.Main(m, sql.Provider())) }

// A world is a PostgreSQL server, a namespace of the shared API server and the provider's controllers between the two.
// ProviderConfig "default" of the namespace leads to the server, and so does the cluster-scoped one called like the
// namespace.
type world struct {
	*providertest.World
	postgres *postgresqltest.Server
	server   *postgresql.Server
}

// Controllers look every second unless options say otherwise.
func newWorld(t *testing.T, o ...managed.ReconcilerOption) *world {
	t.Helper()
	w := &world{World: providertest.New(t, sql.Provider())}
	w.startServer(t)
	w.Start(t, o...)
	w.create(t, w.login("server", w.postgres.Config()))
	unlimited := &xpv1.CallLimits{DeletionsPerMinute: new(int32(0))} // at the end all objects are deleted
	own := &namespacedv1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	own.Spec.Credentials, own.Spec.Limits = w.credentials("server"), unlimited
	w.create(t, own)
	clusters := &v1alpha1.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	clusters.Spec.Credentials, clusters.Spec.Limits = w.credentials("server"), unlimited
	w.create(t, clusters)
	return w
}

// login is a Secret as the connection secret of a server has it.
func (w *world) login(name string, c postgresql.Config) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace}, StringData: map[string]string{
		xpv1.ResourceCredentialsSecretEndpointKey: c.Endpoint,
		xpv1.ResourceCredentialsSecretPortKey:     strconv.Itoa(c.Port),
		xpv1.ResourceCredentialsSecretUserKey:     c.Username,
		xpv1.ResourceCredentialsSecretPasswordKey: string(c.Password),
	}}
}

// credentials are those of a connection secret in the world's namespace.
func (w *world) credentials(secret string) xpv1.ProviderCredentials {
	return xpv1.ProviderCredentials{
		Source: xpv1.CredentialsSourceSecret,
		SecretRef: &xpv1.SecretKeySelector{
			Namespace: w.Namespace, Name: secret, Key: xpv1.ResourceCredentialsSecretPasswordKey,
		},
	}
}

// startServer has the server log every statement, so that tests can see what reaches it. It has room for the pools of the several
// providers and the sessions of the tests that share it.
func (w *world) startServer(t *testing.T) {
	t.Helper()
	var err error
	if w.postgres, err = postgresqltest.Start("log_statement=all", "max_connections=100"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.postgres.Stop(); err != nil {
			t.Error(err)
		}
	})
	if w.server, err = postgresql.New(w.postgres.Config()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.server.Close)
}

// create creates an object that uses the world's server, and removes it at the end of the test.
func (w *world) create(t *testing.T, o client.Object) {
	t.Helper()
	w.place(t, o)
	w.Create(t, o)
}

// place has an object use the world's server.
func (w *world) place(t *testing.T, o client.Object) {
	t.Helper()
	w.Place(t, o)
	config := &xpv1.ProviderConfigReference{Kind: xpv1.ProviderConfigKind, Name: "default"}
	if o.GetNamespace() == "" {
		config = &xpv1.ProviderConfigReference{Name: w.Namespace}
	}
	if mg, ok := o.(resource.ProviderConfigReferencer); ok {
		mg.SetProviderConfigReference(config)
	}
}

// secret returns the data of a Secret.
func (w *world) secret(t *testing.T, name string) map[string][]byte {
	t.Helper()
	s := &corev1.Secret{}
	if err := w.Client.Get(t.Context(), client.ObjectKey{Namespace: w.Namespace, Name: name}, s); err != nil {
		t.Fatal(err)
	}
	return s.Data
}
