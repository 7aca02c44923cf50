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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// session is one of a user in a database, as any program of theirs has it.
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

// does runs statements of a tenant in a database, and leaves the session as it is.
func (w *world) does(t *testing.T, tenant, database string, statements ...string) *pgx.Conn {
	t.Helper()
	conn, err := w.session(t, tenant, string(w.secret(t, tenant)["password"]), database)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range statements {
		if _, err := conn.Exec(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return conn
}

// tenants makes that many.
func (w *world) tenants(t *testing.T, prefix string, n int) []*v1alpha1.TenantDatabase {
	t.Helper()
	made := make([]*v1alpha1.TenantDatabase, n)
	for i := range made {
		made[i] = tenantDatabase(w, fmt.Sprintf("%s-%d", prefix, i))
		w.create(t, made[i])
	}
	for _, o := range made {
		w.Settled(t, o)
	}
	return made
}

// leaves deletes a tenant and waits until nothing of it is left, anywhere.
func (w *world) leaves(t *testing.T, o *v1alpha1.TenantDatabase) {
	t.Helper()
	if err := w.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.gone(t, o)
}

func (w *world) gone(t *testing.T, o *v1alpha1.TenantDatabase) {
	t.Helper()
	w.Eventually(t, o.Name+" is gone", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("the object is there: %v", o.Status.Conditions)
		}
		_, noRole := postgresql.Get(ctx, w.server, postgresql.Role{Name: o.Name})
		_, noDatabase := postgresql.Get(ctx, w.server, postgresql.Database{Name: o.Name})
		if !postgresql.IsNotFound(noRole) || !postgresql.IsNotFound(noDatabase) {
			return errors.Join(errors.New("something is there"), noRole, noDatabase)
		}
		return nil
	})
}

func TestTenantsThatTieThemselvesAndOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.tenants(t, "tied", 3)
	own, rival, helper := all[0], all[1], all[2]
	w.does(t, own.Name, "postgres", "SELECT lo_create(0)", "BEGIN", `ALTER ROLE "tied-0" PASSWORD 'kept'`)
	w.does(t, own.Name, own.Name, "CREATE TABLE t (x int)", `GRANT CONNECT ON DATABASE "tied-0" TO "tied-1"`,
		`GRANT SELECT ON t TO "tied-1"`, `GRANT CONNECT ON DATABASE "tied-0" TO "tied-2" WITH GRANT OPTION`)
	w.does(t, helper.Name, own.Name, `GRANT CONNECT ON DATABASE "tied-0" TO "tied-1"`)
	t.Run("a tenant to whom another granted something (R55)", func(t *testing.T) { w.leaves(t, rival) })
	t.Run("a tenant with something outside of its database (R55)", func(t *testing.T) { w.leaves(t, own) })
	t.Run("the others stay (R38)", func(t *testing.T) {
		if err := w.open(t, w.secret(t, helper.Name), helper.Name); err != nil {
			t.Error(err)
		}
	})
}

// A deletion that was cut off, wherever, is completed.
func TestTenantsHalfGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steps := []struct {
		name string
		do   func(ctx context.Context, tenant string) error
	}{
		{"nothing", func(context.Context, string) error { return nil }},
		{"locked out", w.server.DisableLogin},
		{"no database", func(ctx context.Context, tenant string) error {
			return postgresql.ForceDelete(ctx, w.server, postgresql.Database{Name: tenant})
		}},
		{"nothing owned", w.server.DropOwned},
		{"no role", func(ctx context.Context, tenant string) error {
			return postgresql.Delete(ctx, w.server, postgresql.Role{Name: tenant})
		}},
	}
	pause := func(value string, o client.Object) { // not Change: a paused object is not Synced
		t.Helper()
		paused := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"crossplane.io/paused":`+value+`}}}`))
		if err := w.Client.Patch(t.Context(), o, paused); err != nil {
			t.Fatal(err)
		}
	}
	for i := range steps {
		t.Run("cut off after: "+steps[i].name+" (R38)", func(t *testing.T) {
			o := w.tenants(t, fmt.Sprintf("cut-%d", i), 1)[0]
			w.does(t, o.Name, "postgres", "SELECT lo_create(0)")
			pause(`"true"`, o)
			if err := w.Client.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			for _, step := range steps[:i+1] { // again where others on the server are in the way, as the controller would
				w.Eventually(t, step.name, func(ctx context.Context) error { return step.do(ctx, o.Name) })
			}
			pause("null", o)
			w.gone(t, o)
		})
	}
}

func TestTenantsWhileATemplateIsInUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.postgres.Config()
	if _, err := w.session(t, c.Username, string(c.Password), "template1"); err != nil {
		t.Fatal(err)
	}
	o := tenantDatabase(w, "unhindered")
	w.create(t, o)
	w.Settled(t, o)
}

func TestTenantsConnectionLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := tenantDatabase(w, "limited")
	o.Spec.ForProvider.ConnectionLimit = ptr.To(3)
	w.create(t, o)
	w.Settled(t, o)
	most := func(t *testing.T) (n int) {
		for ; n < 10; n++ {
			conn, err := w.session(t, o.Name, string(w.secret(t, o.Name)["password"]), "postgres")
			if err != nil {
				return n
			}
			defer conn.Close(t.Context()) // The server goes with the test.
		}
		return n
	}
	t.Run("it holds in every database (R206)", func(t *testing.T) {
		if n := most(t); n != 3 {
			t.Errorf("%d sessions at a time", n)
		}
	})
	limit := func(ctx context.Context, n int) error {
		return postgresql.Update(ctx, w.server, postgresql.Role{Name: o.Name, ConnectionLimit: &n})
	}
	t.Run("the role's limit is corrected (N8)", func(t *testing.T) {
		if err := limit(t.Context(), -1); err != nil {
			t.Fatal(err)
		}
		w.holds(t, o.Name, 3)
	})
	t.Run("a new limit is the role's, too (N8)", func(t *testing.T) {
		w.Change(t, o, func() { o.Spec.ForProvider.ConnectionLimit = ptr.To(5) })
		w.holds(t, o.Name, 5)
	})
}

// holds waits until a tenant's database and role have a connection limit.
func (w *world) holds(t *testing.T, tenant string, limit int) {
	t.Helper()
	w.Eventually(t, fmt.Sprintf("the limit is %d", limit), func(ctx context.Context) error {
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

// More tenants than the provider has connections keep locks on what their deletion needs.
func TestTenantsThatKeepLocks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keepers := w.tenants(t, "keeper", 12)
	for _, o := range keepers {
		w.does(t, o.Name, "postgres", "BEGIN", fmt.Sprintf("COMMENT ON DATABASE %q IS 'kept'", o.Name))
	}
	began := time.Now()
	for _, o := range keepers {
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	other := tenantDatabase(w, "bystander")
	w.create(t, other)
	w.Settled(t, other)
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("another tenant's work took %v (R55)", took)
	}
	for _, o := range keepers {
		w.gone(t, o)
	}
	log, err := w.postgres.Log()
	if err != nil || strings.Contains(log, "canceling statement due to lock timeout") {
		t.Errorf("a deletion waited for a lock of its own tenant: %v (R55)", err)
	}
}
