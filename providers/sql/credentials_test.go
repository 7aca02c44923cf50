// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// changedCredentials work again after others changed the role.
func changedCredentials(t *testing.T, w *world) {
	role := &namespacedv1alpha1.Role{ObjectMeta: named("changed-role")}
	role.Spec.ForProvider.Login = ptr.To(true)
	role.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Name: role.Name}
	w.create(t, role)
	tenant := w.newTenant(t, "changed-tenant")
	c := w.postgres.Config()
	admin, err := w.session(t, c.Username, string(c.Password), "postgres")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []resource.Managed{role, tenant} {
		w.Settled(t, o)
		secret := w.secret(t, o.GetName())
		before := w.roleOf(t, o)
		for change, path := range map[string]string{
			"PASSWORD 'stolen'": "password", "PASSWORD NULL": "password", "NOLOGIN": "login", "VALID UNTIL '2001-01-01'": "validUntil",
			"CONNECTION LIMIT 0": "connectionLimit", "SUPERUSER": "superuser", "CREATEROLE": "createRole", "CREATEDB": "createDb",
			"REPLICATION": "replication", "BYPASSRLS": "bypassRls", "PASSWORD 'md5" + strings.Repeat("0", 32) + "'": "password",
		} {
			if _, err := admin.Exec(t.Context(), fmt.Sprintf("ALTER ROLE %q %s", o.GetName(), change)); err != nil {
				t.Fatal(err)
			}
			w.restored(t, o, before, secret)
			w.updatedBecauseOf(t, o, path)
		}
		if err := w.open(t, secret, "postgres", "ALTER ROLE current_user PASSWORD 'forgotten'"); err != nil {
			t.Fatal(err)
		}
		w.restored(t, o, before, secret)
		if diff := cmp.Diff(secret, w.secret(t, o.GetName())); diff != "" {
			t.Errorf("%s: the connection Secret changed (P65)", o.GetName())
		}
		w.Settled(t, o)
	}
}

func (w *world) roleOf(t *testing.T, o client.Object) *postgresql.Role {
	t.Helper()
	role, err := postgresql.Get(t.Context(), w.server, postgresql.Role{Name: o.GetName()})
	if err != nil {
		t.Fatal(err)
	}
	return role
}

// restored waits until a role is as before, and the connection Secret opens a session.
func (w *world) restored(t *testing.T, o client.Object, before *postgresql.Role, secret map[string][]byte) {
	t.Helper()
	w.Eventually(t, o.GetName()+" is as before (N8 P65)", func(context.Context) error {
		if diff := cmp.Diff(before, w.roleOf(t, o)); diff != "" {
			return errors.New(diff)
		}
		return w.open(t, secret, "postgres")
	})
}

// updatedBecauseOf waits for an event that names a field, and no password.
func (w *world) updatedBecauseOf(t *testing.T, o client.Object, path string) {
	t.Helper()
	w.Eventually(t, "an event names "+path, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := w.Client.List(ctx, events); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.UID == o.GetUID() && strings.HasSuffix(e.Message, o.GetName()+": "+path) {
				return nil
			}
		}
		return errors.New("none does")
	})
}

// unrepairedCredentials belong to an object that must not be updated.
func unrepairedCredentials(t *testing.T, w *world) {
	o := w.newTenant(t, "unrepaired", func(o *v1alpha1.TenantDatabase) {
		o.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve, xpv1.ManagementActionCreate,
			xpv1.ManagementActionDelete}
	})
	w.Settled(t, o)
	w.executes(t, o.Name, "postgres", "ALTER ROLE current_user PASSWORD 'forgotten'")
	w.Eventually(t, "the mismatch is shown (N8)", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		shown := slices.Contains(o.Status.Drift, xpv1.FieldDifference{Path: "password", Desired: "(sensitive)", Observed: "(sensitive)"})
		if ready := o.GetCondition(xpv1.TypeReady); ready.Status != corev1.ConditionFalse || !shown {
			return fmt.Errorf("Ready is %s, drift %v", ready.Status, o.Status.Drift)
		}
		return nil
	})
}

// credentialsWithoutSuperuser are compared by a provider that may not read verifiers.
func credentialsWithoutSuperuser(t *testing.T, w *world) {
	o := w.tenantOf(t, postgresql.Role{
		Name: "ordinary", Login: ptr.To(true), CreateRole: ptr.To(true), CreateDB: ptr.To(true), Password: "ordinary-password",
	}, "ordinary-tenant")
	w.Settled(t, o)
	secret, before := w.secret(t, o.Name), w.roleOf(t, o)
	w.executes(t, o.Name, "postgres", "ALTER ROLE current_user PASSWORD 'forgotten'")
	w.restored(t, o, before, secret)
	w.updatedBecauseOf(t, o, "password")
}
