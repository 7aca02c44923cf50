// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// newTenant creates a tenant whose connection Secret has its name.
func (w *world) newTenant(t *testing.T, name string, change ...func(*v1alpha1.TenantDatabase)) *v1alpha1.TenantDatabase {
	t.Helper()
	o := &v1alpha1.TenantDatabase{ObjectMeta: named(name)}
	o.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: w.Namespace, Name: name}
	for _, f := range change {
		f(o)
	}
	w.create(t, o)
	return o
}

// tenants creates tenants and waits until they are ready.
func (w *world) tenants(t *testing.T, names ...string) []*v1alpha1.TenantDatabase {
	t.Helper()
	created := make([]*v1alpha1.TenantDatabase, len(names))
	for i, name := range names {
		created[i] = w.newTenant(t, name)
	}
	for _, o := range created {
		w.Settled(t, o)
	}
	return created
}

// session connects a user to a database, as any of its programs does.
func (w *world) session(t *testing.T, username, password, database string) (*pgx.Conn, error) {
	t.Helper()
	c := w.postgres.Config()
	config, err := pgx.ParseConfig(fmt.Sprintf("host=%s port=%d sslmode=disable", c.Endpoint, c.Port))
	if err != nil {
		t.Fatal(err)
	}
	config.User, config.Password, config.Database = username, password, database
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err == nil {
		t.Cleanup(func() { _ = conn.Close(context.Background()) })
	}
	return conn, err
}

// open connects with a connection Secret to a database, and runs statements in a session that stays open.
func (w *world) open(t *testing.T, secret map[string][]byte, database string, statements ...string) error {
	t.Helper()
	conn, err := w.session(t, string(secret["username"]), string(secret["password"]), database)
	for _, s := range statements {
		if err == nil {
			_, err = conn.Exec(t.Context(), s)
		}
	}
	return err
}

// executes is open for statements of a tenant that succeed.
func (w *world) executes(t *testing.T, tenant, database string, statements ...string) {
	t.Helper()
	if err := w.open(t, w.secret(t, tenant), database, statements...); err != nil {
		t.Fatal(err)
	}
}

// deletes deletes a tenant and waits until its object, role and database do not exist.
func (w *world) deletes(t *testing.T, o *v1alpha1.TenantDatabase) {
	t.Helper()
	if err := w.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.gone(t, o)
}

func (w *world) gone(t *testing.T, o *v1alpha1.TenantDatabase) {
	t.Helper()
	w.Eventually(t, o.Name+" is deleted", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the object exists: %v", o.Status.Conditions)
		}
		_, noRole := postgresql.Get(ctx, w.server, postgresql.Role{Name: o.Name})
		_, noDatabase := postgresql.Get(ctx, w.server, postgresql.Database{Name: o.Name})
		if !postgresql.IsNotFound(noRole) || !postgresql.IsNotFound(noDatabase) {
			return errors.Join(errors.New("the role or the database exists"), noRole, noDatabase)
		}
		return nil
	})
}

// reports waits until an object is not synced and its message has the words.
func (w *world) reports(t *testing.T, o resource.Managed, words string) {
	t.Helper()
	w.Eventually(t, o.GetName()+" reports "+words, func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if c := o.GetCondition(xpv1.TypeSynced); c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, words) {
			return fmt.Errorf("it reports %s %q", c.Status, c.Message)
		}
		return nil
	})
}

func allRoles(database string) postgresql.Grant {
	return postgresql.Grant{
		Role: postgresql.Public, On: postgresql.Target{Kind: postgresql.OnDatabase, Database: database}, Privileges: []string{"CONNECT"},
	}
}

// twoTenants have no access to each other, which drift does not change.
func twoTenants(t *testing.T, w *world) {
	all := w.tenants(t, "tenant-a", "tenant-b")
	a, b := all[0], all[1]
	if got := a.Status.BindingPhase; got != xpv1.BindingPhaseUnbound {
		t.Errorf("binding phase %q (A43)", got)
	}
	secret := w.secret(t, a.Name)
	if err := w.open(t, secret, string(secret["database"])); err != nil || string(secret["database"]) != a.Name {
		t.Errorf("database %q: %v (R206)", secret["database"], err)
	}
	err := w.open(t, secret, b.Name)
	if refused, ok := errors.AsType[*pgconn.PgError](err); !ok || refused.Code != "42501" { // insufficient_privilege
		t.Errorf("opening the database of another tenant: %v (R206)", err)
	}
	if _, err := postgresql.Create(t.Context(), w.server, allRoles(a.Name)); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "a grant to all roles is revoked (N8, R114)", func(ctx context.Context) error {
		if _, err := postgresql.Get(ctx, w.server, allRoles(a.Name)); !postgresql.IsNotFound(err) {
			return fmt.Errorf("all roles may connect: %w", err)
		}
		return nil
	})
	w.deletes(t, a)
}

// interruptedCreate undoes the end of a creation, which the provider repeats.
func interruptedCreate(t *testing.T, w *world) {
	all := w.tenants(t, "without-database", "without-role", "closed", "closed-to-its-owner")
	owner := w.postgres.Config().Username
	for i, undo := range []func(name string) error{
		func(name string) error {
			noResult := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`,
				meta.AnnotationKeyExternalCreatePending, time.Now().Add(time.Second).UTC().Format(time.RFC3339)))
			err := postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: name})
			return errors.Join(err, w.Client.Patch(t.Context(), &v1alpha1.TenantDatabase{ObjectMeta: named(name)}, noResult))
		},
		func(name string) error {
			err := postgresql.Update(t.Context(), w.server, postgresql.Database{Name: name, Owner: &owner})
			return errors.Join(err, postgresql.Delete(t.Context(), w.server, postgresql.Role{Name: name}))
		},
		func(name string) error {
			return postgresql.Update(t.Context(), w.server, postgresql.Database{Name: name, AllowConnections: ptr.To(false)})
		},
		func(name string) error {
			return w.open(t, w.secret(t, name), "postgres", fmt.Sprintf("REVOKE ALL ON DATABASE %q FROM %[1]q", name))
		},
	} {
		secret := w.secret(t, all[i].Name)
		if err := undo(all[i].Name); err != nil {
			t.Fatal(err)
		}
		w.Eventually(t, all[i].Name+" opens again", func(context.Context) error { return w.open(t, secret, all[i].Name) })
	}
}

// interruptedDelete does the first steps of a deletion, which the provider completes.
func interruptedDelete(t *testing.T, w *world) {
	steps := []func(ctx context.Context, tenant string) error{
		w.server.DisableLogin,
		func(ctx context.Context, tenant string) error {
			return postgresql.ForceDelete(ctx, w.server, postgresql.Database{Name: tenant})
		},
		w.server.DropOwned,
		func(ctx context.Context, tenant string) error {
			return postgresql.Delete(ctx, w.server, postgresql.Role{Name: tenant})
		},
	}
	pause := func(value string, o client.Object) { // not Change: a paused object is not Synced
		t.Helper()
		paused := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"crossplane.io/paused":`+value+`}}}`))
		if err := w.Client.Patch(t.Context(), o, paused); err != nil {
			t.Fatal(err)
		}
	}
	for done, o := range w.tenants(t, "cut-0", "cut-1", "cut-2", "cut-3", "cut-4") {
		w.executes(t, o.Name, "postgres", "SELECT lo_create(0)")
		pause(`"true"`, o)
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		for _, step := range steps[:done] { // repeated while other objects on the server change, as by the controller
			w.Eventually(t, "a step of the deletion", func(ctx context.Context) error { return step(ctx, o.Name) })
		}
		pause("null", o)
		w.gone(t, o)
	}
}

// foreignObjects have the names of tenants, and are kept.
func foreignObjects(t *testing.T, w *world) {
	_, errRole := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: "foreign-role"})
	_, errDatabase := postgresql.Create(t.Context(), w.server, postgresql.Database{Name: "foreign-database", Template: ptr.To("template0")})
	if err := errors.Join(errRole, errDatabase); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"foreign-role", "foreign-database"} {
		o := w.newTenant(t, name)
		w.reports(t, o, "exists already")
		w.Remove(t, o)
	}
	_, errRole = postgresql.Get(t.Context(), w.server, postgresql.Role{Name: "foreign-role"})
	_, errDatabase = postgresql.Get(t.Context(), w.server, postgresql.Database{Name: "foreign-database"})
	if err := errors.Join(errRole, errDatabase); err != nil {
		t.Errorf("foreign objects are deleted: %v (N24)", err)
	}
	future := w.newTenant(t, "future", func(o *v1alpha1.TenantDatabase) { o.Spec.ForProvider.EngineVersion = ptr.To("99") })
	w.reports(t, future, "not 99")
}

// tenantOf creates a tenant through a provider that connects as a role.
func (w *world) tenantOf(t *testing.T, user postgresql.Role, tenant string) *v1alpha1.TenantDatabase {
	t.Helper()
	if _, err := postgresql.Create(t.Context(), w.server, user); err != nil {
		t.Fatal(err)
	}
	c := w.postgres.Config()
	c.Username, c.Password = user.Name, user.Password
	w.create(t, w.login(user.Name, c))
	config := &v1alpha1.ProviderConfig{ObjectMeta: named(w.Namespace + "-" + user.Name)}
	config.Spec.Credentials = w.credentials(user.Name)
	w.create(t, config)
	o := &v1alpha1.TenantDatabase{ObjectMeta: named(tenant)}
	o.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: w.Namespace, Name: tenant}
	w.place(t, o)
	o.Spec.ProviderConfigReference.Name = config.Name
	w.Create(t, o)
	return o
}

// tiedTenants hold objects and privileges in each other's databases.
func tiedTenants(t *testing.T, w *world) {
	all := w.tenants(t, "tied-0", "tied-1", "tied-2")
	own, rival, helper := all[0], all[1], all[2]
	w.executes(t, own.Name, "postgres", "SELECT lo_create(0)", "BEGIN", `ALTER ROLE "tied-0" PASSWORD 'kept'`)
	w.executes(t, own.Name, own.Name, "CREATE TABLE t (x int)", `GRANT CONNECT ON DATABASE "tied-0" TO "tied-1"`,
		`GRANT SELECT ON t TO "tied-1"`, `GRANT CONNECT ON DATABASE "tied-0" TO "tied-2" WITH GRANT OPTION`)
	w.executes(t, helper.Name, own.Name, `GRANT CONNECT ON DATABASE "tied-0" TO "tied-1"`)
	w.deletes(t, rival)
	w.deletes(t, own)
	if err := w.open(t, w.secret(t, helper.Name), helper.Name); err != nil {
		t.Errorf("a tenant that remains: %v (R38)", err)
	}
}

// The server is of its own, since other tests copy the template.
func TestTenantWhileTemplateIsInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.postgres.Config()
	conn, err := w.session(t, c.Username, string(c.Password), "template1")
	if err != nil {
		t.Fatal(err)
	}
	w.tenants(t, "unhindered")
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func connectionLimit(t *testing.T, w *world) {
	o := w.newTenant(t, "few", func(o *v1alpha1.TenantDatabase) { o.Spec.ForProvider.ConnectionLimit = ptr.To(3) })
	w.Settled(t, o)
	n := 0
	for ; n < 10 && w.open(t, w.secret(t, o.Name), "postgres") == nil; n++ {
	}
	if n != 3 {
		t.Errorf("%d sessions at a time in another database (R206)", n)
	}
	if err := postgresql.Update(t.Context(), w.server, postgresql.Role{Name: o.Name, ConnectionLimit: ptr.To(-1)}); err != nil {
		t.Fatal(err)
	}
	w.hasLimit(t, o.Name, 3)
	w.Change(t, o, func() { o.Spec.ForProvider.ConnectionLimit = ptr.To(5) })
	w.hasLimit(t, o.Name, 5)
}

// A server that dies and comes back.
func TestTenantsOfServerThatDies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tenants := w.tenants(t, "left-0", "left-1")
	if err := w.postgres.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Run("no tenant is Ready (N44)", func(t *testing.T) {
		w.Eventually(t, "all are Unknown", func(ctx context.Context) error {
			for _, o := range tenants {
				if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
					return err
				}
				if ready, failed := o.GetCondition(xpv1.TypeReady), xpv1.FailureOf(o); ready.Reason != xpv1.ReasonCannotObserve ||
					failed.Reason != failure.ExternalSystemUnreachable || failed.Message == "" {
					return fmt.Errorf("%s is Ready %s (%s): %+v", o.Name, ready.Status, ready.Reason, failed)
				}
			}
			return nil
		})
	})
	if err := w.postgres.Restart(); err != nil {
		t.Fatal(err)
	}
	for _, o := range tenants {
		w.Settled(t, o)
	}
}

// A server that accepts connections and does not answer. Polls are too rare to notice it: one new object does for all.
func TestTenantsOfServerThatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, managed.WithPollInterval(10*time.Minute))
	tenants := w.tenants(t, "hangs-0", "hangs-1", "hangs-2", "hangs-3", "hangs-4", "hangs-5")
	leaving := w.tenants(t, "leaving")[0]
	if err := w.postgres.Freeze(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.postgres.Thaw() })
	began := time.Now()
	shows := func(what string, o *v1alpha1.TenantDatabase, reason xpv1.ConditionReason, failed bool) {
		t.Helper()
		w.Eventually(t, what, func(ctx context.Context) error {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
			if got := o.GetCondition(xpv1.TypeReady); got.Reason != reason || failed && xpv1.FailureOf(o).Reason != failure.ExternalSystemUnreachable {
				return fmt.Errorf("Ready is %s (%s), %+v", got.Status, got.Reason, xpv1.FailureOf(o))
			}
			return nil
		})
		t.Logf("%s: after %v", what, time.Since(began))
	}
	if err := w.Client.Delete(t.Context(), leaving); err != nil {
		t.Fatal(err)
	}
	shows("a deletion is shown while its first call hangs", leaving, xpv1.ReasonDeleting, false)
	fresh := w.newTenant(t, "new")
	shows("a new object reports it", fresh, "", true)
	for _, o := range tenants {
		shows("no tenant is Ready (N44)", o, xpv1.ReasonCannotObserve, true)
	}
	if err := w.postgres.Thaw(); err != nil {
		t.Fatal(err)
	}
	w.gone(t, leaving)
	for _, o := range append(tenants, fresh) {
		w.Settled(t, o)
	}
	t.Logf("recovered after %v", time.Since(began))
}

// hasLimit waits until a tenant's database and role have a connection limit.
func (w *world) hasLimit(t *testing.T, tenant string, limit int) {
	t.Helper()
	w.Eventually(t, fmt.Sprintf("the limit is %d (N8)", limit), func(ctx context.Context) error {
		role, noRole := postgresql.Get(ctx, w.server, postgresql.Role{Name: tenant})
		d, noDatabase := postgresql.Get(ctx, w.server, postgresql.Database{Name: tenant})
		if err := errors.Join(noRole, noDatabase); err != nil {
			return err
		}
		if *role.ConnectionLimit != limit || *d.ConnectionLimit != limit {
			return fmt.Errorf("it is %d of the role, %d of the database", *role.ConnectionLimit, *d.ConnectionLimit)
		}
		return nil
	})
}

// More tenants than the provider has connections hold locks that their deletion needs.
func TestTenantsWithLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var names []string
	for i := range 12 {
		names = append(names, fmt.Sprintf("keeper-%d", i))
	}
	keepers := w.tenants(t, names...)
	for _, o := range keepers {
		w.executes(t, o.Name, "postgres", "BEGIN", fmt.Sprintf("COMMENT ON DATABASE %q IS 'kept'", o.Name))
	}
	for _, o := range keepers {
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("other tenants are created meanwhile (R55)", func(t *testing.T) {
		w.tenants(t, "bystander")
	})
	t.Run("no deletion waits for a lock of its own tenant (R55)", func(t *testing.T) {
		for _, o := range keepers {
			w.gone(t, o)
		}
		log, err := w.postgres.Log()
		if err != nil || strings.Contains(log, "canceling statement due to lock timeout") {
			t.Errorf("one did: %v", err)
		}
	})
}
