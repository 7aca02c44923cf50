// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	sqlv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/test/inspect"
)

// vault is the namespace of the classes' connection Secrets.
const vault = "vault"

// A market is a stage with a server that many share, so that there are two providers for one claim kind.
type market struct {
	*stage

	shared *postgresql.Server
}

func newMarket(t *testing.T, s *stage) *market {
	t.Helper()
	s.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: vault}})
	return &market{stage: s, shared: s.Share(t, "max_connections=60")}
}

// place makes a namespace for the claims of a team, and labels for the classes that are for them.
func (m *market) place(t *testing.T, name string) (namespace string, labels map[string]string) {
	t.Helper()
	m.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return name, map[string]string{"for": name}
}

// postgres returns a claim that asks for a class by labels; without any, for the default class.
func postgres(namespace, name string, labels map[string]string) *databasev1alpha1.PostgreSQLInstance {
	c := &databasev1alpha1.PostgreSQLInstance{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	if labels != nil {
		c.Spec.ClassSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
	c.Spec.WriteConnectionSecretToReference = &xpv1.LocalSecretReference{Name: name}
	return c
}

// bound waits until a claim is bound, both sides agree, and the Secret opens the database.
func (m *market) bound(t *testing.T, claim resource.Claim) (b *inspect.Binding) {
	t.Helper()
	m.Eventually(t, within, claim.GetName()+" is bound", func(ctx context.Context) (err error) {
		b, err = inspect.Bound(ctx, m.Client, claim)
		return err
	})
	if err := application(t.Context(), b.Copy.Data, ""); err != nil {
		t.Errorf("%s: %v", claim.GetName(), err)
	}
	return b
}

// application stores orders in the database of its Secret, and reads one.
func application(ctx context.Context, secret map[string][]byte, wanted string) error {
	conn, err := inspect.Connect(ctx, secret)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, "create table if not exists orders (name text primary key)"); err != nil {
		return err
	}
	if wanted == "" {
		_, err := conn.Exec(ctx, "insert into orders values ('tea') on conflict do nothing")
		return err
	}
	var found int
	if err := conn.QueryRow(ctx, "select count(*) from orders where name = $1", wanted).Scan(&found); err != nil {
		return err
	}
	if found != 1 {
		return fmt.Errorf("the order of %s is not there", wanted)
	}
	return nil
}

// managedOf returns the managed resources of both providers that were created for a claim.
func (m *market) managedOf(ctx context.Context, claim resource.Claim) (all []resource.BindableManaged, err error) {
	servers, databases := &databasev1alpha3.FavouriteDBInstanceList{}, &sqlv1alpha1.TenantDatabaseList{}
	err = errors.Join(m.Client.List(ctx, servers), m.Client.List(ctx, databases))
	ours := func(mg resource.BindableManaged) {
		if of := mg.GetClaimReference(); of != nil && of.UID == claim.GetUID() {
			all = append(all, mg)
		}
	}
	for i := range servers.Items {
		ours(&servers.Items[i])
	}
	for i := range databases.Items {
		ours(&databases.Items[i])
	}
	return all, err
}

// hasOne checks that a claim has only the managed resource of the binding, and that this is named after it.
func (m *market) hasOne(t *testing.T, claim resource.Claim, b *inspect.Binding) {
	t.Helper()
	all, err := m.managedOf(t.Context(), claim)
	if err != nil || len(all) != 1 || all[0].GetUID() != b.Managed.GetUID() {
		t.Errorf("%s has %d managed resources (%v), want one", claim.GetName(), len(all), err)
	}
	name := regexp.MustCompile("^" + claim.GetNamespace() + "-" + claim.GetName() + "-[a-z0-9]{5}$")
	if !name.MatchString(b.Managed.GetName()) {
		t.Errorf("the managed resource is called %s, want %s", b.Managed.GetName(), name)
	}
}

// waits waits until a claim is unbound for a reason, with the given words, and checks that it has no managed resource.
func (m *market) waits(t *testing.T, claim resource.Claim, reason xpv1.ConditionReason, words ...string) {
	t.Helper()
	m.Eventually(t, within, claim.GetName()+" reports why it is unbound", func(ctx context.Context) error {
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		ready := claim.GetCondition(xpv1.TypeReady)
		if ready.Status != corev1.ConditionFalse || ready.Reason != reason || claim.GetBindingPhase() != xpv1.BindingPhaseUnbound {
			return fmt.Errorf("it is %q; Ready is %s: %s %s", claim.GetBindingPhase(), ready.Status, ready.Reason, ready.Message)
		}
		return contains(ready.Message, words)
	})
	all, err := m.managedOf(t.Context(), claim)
	if err != nil || len(all) > 0 {
		t.Errorf("%s has %d managed resources (%v), want none", claim.GetName(), len(all), err)
	}
	if _, err := m.Secret(t.Context(), claim.GetNamespace(), claim.GetName()); !apierrors.IsNotFound(err) {
		t.Errorf("Secret of %s, which has nothing: %v", claim.GetName(), err)
	}
}

// remove deletes an object and waits until it is deleted.
func (m *market) remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := m.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	m.Eventually(t, within, o.GetName()+" is deleted", func(ctx context.Context) error {
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s is still there: %v", o.GetName(), err)
		}
		return nil
	})
}

// nothingLeft waits until nothing is left of a binding: no managed resource, nothing behind it, no Secret of either side.
func (m *market) nothingLeft(t *testing.T, b *inspect.Binding) {
	t.Helper()
	m.Eventually(t, within, "nothing is left of "+b.Managed.GetName(), func(ctx context.Context) error {
		for _, o := range []client.Object{b.Managed, b.Source, b.Copy} {
			o = o.DeepCopyObject().(client.Object)
			if err := m.Client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s/%s: %v", o, o.GetNamespace(), o.GetName(), err)
			}
		}
		return m.nothingOutside(ctx, b)
	})
}

func (m *market) nothingOutside(ctx context.Context, b *inspect.Binding) error {
	if _, ok := b.Managed.(*databasev1alpha3.FavouriteDBInstance); ok {
		left, err := m.cloud.Databases.List(ctx, inspect.OwnedBy(b.Managed.GetUID()))
		if err != nil || len(left) > 0 {
			return fmt.Errorf("the cloud has %d instances: %w", len(left), err)
		}
		return nil
	}
	_, noDatabase := postgresql.Get(ctx, m.shared, postgresql.Database{Name: b.Managed.GetName()})
	_, noRole := postgresql.Get(ctx, m.shared, postgresql.Role{Name: b.Managed.GetName()})
	if !postgresql.IsNotFound(noDatabase) || !postgresql.IsNotFound(noRole) {
		return errors.Join(errors.New("the shared server has a database or a role"), noDatabase, noRole)
	}
	return nil
}
