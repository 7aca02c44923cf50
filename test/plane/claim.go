// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	sqlv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql/postgresqltest"
)

// Share starts a PostgreSQL server that many share, with settings such as "max_connections=40", and lets provider sql's
// ProviderConfig default lead to it. The server ends with the test.
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
	for _, o := range []client.Object{login, config} {
		if err := p.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return server
}

// FavouriteClass returns a class whose claims get a server of their own, and whose connection Secrets are in namespace.
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

// A Binding is a claim, what it is bound to, and the connection Secrets of both.
type Binding struct {
	// Managed is the managed resource that the claim names, and that names the claim.
	Managed resource.BindableManaged
	// Source is the Secret of the managed resource.
	Source *corev1.Secret
	// Copy is the Secret of the claim.
	Copy *corev1.Secret
}

// Bound reads the claim again and returns its binding. Unless both sides say that they are bound to each other, can be used
// and have the same in their Secrets, it says what is not so.
func (p *Plane) Bound(ctx context.Context, claim resource.Claim) (*Binding, error) {
	if err := p.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
		return nil, err
	}
	ready, ref := claim.GetCondition(xpv1.TypeReady), claim.GetResourceReference()
	if ready.Status != corev1.ConditionTrue || claim.GetBindingPhase() != xpv1.BindingPhaseBound || ref == nil {
		return nil, fmt.Errorf("claim %s is %q; Ready: %s %s; it names %v", claim.GetName(), claim.GetBindingPhase(), ready.Reason,
			ready.Message, ref)
	}
	o, err := p.Client.Scheme().New(ref.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	mg := o.(resource.BindableManaged)
	if err := p.Client.Get(ctx, client.ObjectKey{Name: ref.Name}, mg); err != nil {
		return nil, err
	}
	b := &Binding{Managed: mg, Source: &corev1.Secret{}, Copy: &corev1.Secret{}}
	if of := mg.GetClaimReference(); of == nil || of.UID != claim.GetUID() || mg.GetBindingPhase() != xpv1.BindingPhaseBound {
		return nil, fmt.Errorf("managed resource %s is %q and belongs to %v", mg.GetName(), mg.GetBindingPhase(), of)
	}
	if theirs, ours := meta.GetExternalName(mg), meta.GetExternalName(claim); theirs != ours || ours == "" {
		return nil, fmt.Errorf("external name %q of the managed resource, %q of the claim", theirs, ours)
	}
	from, to := mg.GetWriteConnectionSecretToReference(), claim.GetWriteConnectionSecretToReference()
	if err := errors.Join(
		p.Client.Get(ctx, client.ObjectKey{Namespace: from.Namespace, Name: from.Name}, b.Source),
		p.Client.Get(ctx, client.ObjectKey{Namespace: claim.GetNamespace(), Name: to.Name}, b.Copy),
	); err != nil {
		return nil, err
	}
	if !maps.EqualFunc(b.Source.Data, b.Copy.Data, func(one, other []byte) bool { return string(one) == string(other) }) {
		return nil, fmt.Errorf("the Secrets %s/%s and %s/%s differ", b.Source.Namespace, b.Source.Name, b.Copy.Namespace, b.Copy.Name)
	}
	return b, nil
}

// Open connects as an application does that knows nothing but the five keys of a PostgreSQLInstance's Secret.
func Open(ctx context.Context, secret map[string][]byte) (*pgx.Conn, error) {
	u := url.URL{
		Scheme: "postgres",
		User:   url.UserPassword(string(secret["username"]), string(secret["password"])),
		Host:   net.JoinHostPort(string(secret["endpoint"]), string(secret["port"])),
		Path:   string(secret["database"]),
	}
	return pgx.Connect(ctx, u.String())
}
