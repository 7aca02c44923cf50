// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// lostObjects are dropped outside Bowline. They are created again only with permission.
func lostObjects(t *testing.T, w *world) {
	tenants := w.tenants(t, "lost-tenant", "replaced-tenant")
	tenant, replaced := tenants[0], tenants[1]
	d := &v1alpha1.Database{ObjectMeta: named("lost-database")}
	schema := &v1alpha1.Schema{ObjectMeta: named("lost-schema")}
	schema.Spec.ForProvider.Database = ptr.To("postgres")
	role := &v1alpha1.Role{ObjectMeta: named("lost-role")}
	for _, mg := range []resource.Managed{d, schema, role} {
		w.create(t, mg)
		w.Settled(t, mg)
	}
	at := postgresql.Schema{Database: "postgres", Name: schema.Name}
	err := errors.Join(postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: tenant.Name}),
		postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: d.Name}), postgresql.Delete(t.Context(), w.server, at),
		postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: replaced.Name}),
		postgresql.Delete(t.Context(), w.server, postgresql.Role{Name: role.Name}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgresql.Create(t.Context(), w.server, postgresql.Database{Name: replaced.Name}); err != nil {
		t.Fatal(err)
	}
	for _, mg := range []resource.Managed{tenant, replaced, d, schema} {
		w.isLost(t, mg)
	}
	w.Eventually(t, "the role, which holds no data, is created again (R90)", func(ctx context.Context) error {
		_, err := postgresql.Get(ctx, w.server, postgresql.Role{Name: role.Name})
		return err
	})
	for _, name := range []string{tenant.Name, d.Name} {
		if _, err := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: name}); !postgresql.IsNotFound(err) {
			t.Errorf("database %s was created again: %v", name, err)
		}
	}
	if _, err := postgresql.Get(t.Context(), w.server, at); !postgresql.IsNotFound(err) {
		t.Errorf("the schema was created again: %v", err)
	}
	for _, mg := range []resource.Managed{tenant, d, schema} {
		w.Change(t, mg, func() {
			mg.GetAnnotations()[meta.AnnotationKeyRecreate] = string(mg.GetUID())
		})
	}
	w.executes(t, tenant.Name, tenant.Name, "SELECT 1")

	if err := w.Client.Delete(t.Context(), replaced); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "the tenant is deleted", testkit.Gone(w.Client, replaced))
	if _, err := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: replaced.Name}); err != nil {
		t.Errorf("the database of somebody else: %v", err)
	}
	w.Eventually(t, "an event says that it stays", func(context.Context) error {
		if n := w.countEvents(t, replaced, managed.ReasonOrphaned); n != 1 {
			return fmt.Errorf("%d events", n)
		}
		return nil
	})
}

// renamedDatabases keep their data, also if the objects that had them are deleted.
func renamedDatabases(t *testing.T, w *world) {
	tenants := w.tenants(t, "moved-tenant", "moved-and-deleted")
	d, left := &v1alpha1.Database{ObjectMeta: named("moved-database")}, &v1alpha1.Database{ObjectMeta: named("moved-and-left")}
	w.create(t, d)
	w.create(t, left)
	w.Settled(t, d, left)
	admin := w.admin()
	rename := func(from, to string) {
		t.Helper()
		w.Eventually(t, from+" is renamed", func(context.Context) error {
			return w.open(t, admin, "postgres", fmt.Sprintf("ALTER DATABASE %q RENAME TO %q", from, to))
		})
	}
	all := []resource.Managed{tenants[0], tenants[1], d, left}
	kept, deleted := w.secret(t, tenants[0].Name), tenants[1]
	if err := w.open(t, w.secret(t, deleted.Name), deleted.Name, "CREATE TABLE items AS SELECT 1 AS n"); err != nil {
		t.Fatal(err)
	}
	disconnect := fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", deleted.Name)
	if err := w.open(t, admin, "postgres", disconnect); err != nil {
		t.Fatal(err)
	}
	for _, mg := range all {
		rename(mg.GetName(), mg.GetName()+"-old")
	}
	for _, mg := range all {
		w.stalled(t, mg, failure.ExternalResourceFailed, "ask your platform team to rename it back")
		w.reports(t, mg, fmt.Sprintf("ALTER DATABASE %q RENAME TO %q", mg.GetName()+"-old", mg.GetName()))
	}
	if err := w.Client.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	for _, mg := range []resource.Managed{deleted, left} {
		w.reports(t, mg, meta.AnnotationKeyOrphanOnDelete)
		if failed := xpv1.FailureOf(mg); failed.Reason != failure.ExternalResourceFailed {
			t.Errorf("the failure is %+v", failed)
		}
	}
	rename(left.Name+"-old", left.Name)
	w.Eventually(t, "a database that was renamed back is deleted", testkit.Gone(w.Client, left))
	if err := w.open(t, admin, deleted.Name+"-old", "SELECT n FROM items"); err != nil {
		t.Errorf("the renamed database of a deleted tenant: %v", err)
	}
	w.merge(t, deleted, `{"metadata":{"annotations":{%q:"true"}}}`, meta.AnnotationKeyOrphanOnDelete)
	w.Eventually(t, "the tenant is deleted, and what it had is not", testkit.Gone(w.Client, deleted))
	if err := w.open(t, admin, deleted.Name+"-old", "SELECT n FROM items"); err != nil {
		t.Errorf("the renamed database of a tenant that left it: %v", err)
	}
	for _, mg := range []resource.Managed{tenants[0], d} {
		rename(mg.GetName()+"-old", mg.GetName())
		w.Settled(t, mg)
	}
	if err := w.open(t, kept, tenants[0].Name); err != nil {
		t.Error(err)
	}
}

// renamedRoles are neither created again nor forgotten, also if others have their names meanwhile.
func renamedRoles(t *testing.T, w *world) {
	tenants := w.tenants(t, "renamed-tenant", "renamed-away", "renamed-replaced")
	role := w.newLogin(t, "renamed-role")
	w.Settled(t, role)
	all := []resource.Managed{tenants[0], tenants[1], tenants[2], role}
	admin := w.admin()
	rename := func(from, to string) {
		t.Helper()
		if err := w.open(t, admin, "postgres", fmt.Sprintf("ALTER ROLE %q RENAME TO %q", from, to)); err != nil {
			t.Fatal(err)
		}
	}
	for _, mg := range all {
		rename(mg.GetName(), mg.GetName()+"-old")
	}
	other := postgresql.Role{Name: "renamed-replaced"}
	if _, err := postgresql.Create(t.Context(), w.server, other); err != nil {
		t.Fatal(err)
	}
	for _, mg := range all {
		w.stalled(t, mg, failure.ExternalResourceFailed, "ask your platform team to rename it back")
		w.reports(t, mg, fmt.Sprintf("ALTER ROLE %q RENAME TO %q", mg.GetName()+"-old", mg.GetName()))
		if mg.GetCondition(xpv1.TypeReady).Equal(xpv1.Available()) {
			t.Errorf("%s is Ready", mg.GetName())
		}
		have, err := postgresql.Get(t.Context(), w.server, postgresql.Role{Name: mg.GetName()})
		if mg.GetName() != other.Name && !postgresql.IsNotFound(err) || mg.GetName() == other.Name && *have.Login {
			t.Errorf("role %s: %+v, %v", mg.GetName(), have, err)
		}
	}
	if err := errors.Join(w.Client.Delete(t.Context(), tenants[1]), postgresql.Delete(t.Context(), w.server, other)); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "a pass of the deletion ends", func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(tenants[1]), tenants[1])
		if ready := tenants[1].GetCondition(xpv1.TypeReady); err != nil || ready.Reason != xpv1.ReasonDeleting {
			return fmt.Errorf("%v, error %w", ready, err)
		}
		return nil
	})
	for _, mg := range all {
		rename(mg.GetName()+"-old", mg.GetName())
	}
	w.gone(t, tenants[1])
	w.Settled(t, tenants[0], tenants[2], role)
	w.executes(t, tenants[0].Name, tenants[0].Name, "SELECT 1")
}

// droppedDuringPass are databases of which passes see the beginning of DROP DATABASE, or nothing but its end.
func droppedDuringPass(t *testing.T, w *world) {
	tenants := w.tenants(t, "dropping-tenant", "updated-tenant")
	dropping, updated := tenants[0], tenants[1]
	d := &v1alpha1.Database{ObjectMeta: named("dropping-database")}
	w.create(t, d)
	w.Settled(t, d)
	admin := func() *pgx.Conn {
		t.Helper()
		conn, err := w.session(t, w.postgres.Config().Username, string(w.postgres.Config().Password), "postgres")
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	locks, watches := admin(), admin()
	execute := func(statement string, arguments ...any) {
		t.Helper()
		if _, err := locks.Exec(t.Context(), statement, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	begin := func(name string) { // as DROP DATABASE does it
		t.Helper()
		execute("UPDATE pg_database SET datconnlimit = -2 WHERE datname = $1", name)
	}
	begin(dropping.Name)
	begin(d.Name)
	w.isLost(t, dropping)
	w.isLost(t, d)
	w.merge(t, d, `{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyRecreate, d.GetUID())
	w.reports(t, d, "is being dropped, or its removal was interrupted")
	for _, name := range []string{dropping.Name, d.Name} {
		if err := postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	w.Settled(t, d)

	execute("BEGIN")
	execute(fmt.Sprintf("ALTER ROLE %q CONNECTION LIMIT 7", updated.Name))
	w.merge(t, updated, `{"spec":{"forProvider":{"connectionLimit":5}}}`)
	w.Eventually(t, "an update waits for the lock", func(ctx context.Context) error {
		var n int
		err := watches.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER ROLE "updated-%'`).Scan(&n)
		if err == nil && n == 0 {
			err = errors.New("none does")
		}
		return err
	})
	if err := postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: updated.Name}); err != nil {
		t.Fatal(err)
	}
	execute("ROLLBACK")
	w.isLost(t, updated)
	for _, name := range []string{dropping.Name, updated.Name} {
		if _, err := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: name}); !postgresql.IsNotFound(err) {
			t.Errorf("database %s was created again: %v", name, err)
		}
	}
}

// isLost waits until an object reports that its data is lost.
func (w *world) isLost(t *testing.T, mg resource.Managed) {
	t.Helper()
	w.Eventually(t, mg.GetName()+" is lost", func(ctx context.Context) error {
		err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg)
		if ready := mg.GetCondition(xpv1.TypeReady); err != nil || ready.Reason != xpv1.ReasonResourceLost {
			return fmt.Errorf("%v, error %w", ready, err)
		}
		return nil
	})
}

// replacedObjects are dropped outside Bowline, where others then create empty ones of the same names, which belong to them.
func replacedObjects(t *testing.T, w *world) {
	d, deleted := &v1alpha1.Database{ObjectMeta: named("replaced-database")}, &v1alpha1.Database{ObjectMeta: named("replaced-and-deleted")}
	schema := &v1alpha1.Schema{ObjectMeta: named("replaced-schema")}
	schema.Spec.ForProvider.Database = ptr.To("postgres")
	all := []resource.Managed{d, deleted, schema}
	for _, mg := range all {
		w.create(t, mg)
		w.Settled(t, mg)
	}
	tenants := w.tenants(t, "restored-tenant", "accepted-tenant")
	restored, accepted := tenants[0], tenants[1]
	all = append(all, restored, accepted)
	at := postgresql.Schema{Database: "postgres", Name: schema.Name}
	replace := func(name string) error {
		_, err := postgresql.Create(t.Context(), w.server, postgresql.Database{Name: name})
		return err
	}
	err := errors.Join(postgresql.Delete(t.Context(), w.server, at), postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: d.Name}),
		replace(d.Name), postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: deleted.Name}), replace(deleted.Name),
		postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: restored.Name}), replace(restored.Name),
		postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: accepted.Name}), replace(accepted.Name))
	_, created := postgresql.Create(t.Context(), w.server, at)
	if err := errors.Join(err, created); err != nil {
		t.Fatal(err)
	}
	for _, mg := range all {
		w.isLost(t, mg)
		w.reports(t, mg, "was replaced: it has the id")
	}
	theirs, errDatabase := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: d.Name})
	other, errSchema := postgresql.Get(t.Context(), w.server, at)
	if err := errors.Join(errDatabase, errSchema); err != nil || len(theirs.Labels)+len(other.Labels) > 0 {
		t.Fatalf("labels %v and %v, error %v", theirs.Labels, other.Labels, err)
	}
	w.Remove(t, deleted)
	if _, err := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: deleted.Name}); err != nil {
		t.Errorf("the database of somebody else: %v", err)
	}
	back, err := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: restored.Name})
	if err != nil || back.CurrentOwner == restored.Name || len(back.Labels) > 0 {
		t.Fatalf("%+v, error %v", back, err)
	}
	for mg, oid := range map[resource.Managed]uint32{d: theirs.OID, schema: other.OID, restored: back.OID} {
		w.Change(t, mg, func() { mg.GetAnnotations()[meta.AnnotationKeyRestoredAs] = fmt.Sprint(oid) })
	}
	w.Change(t, accepted, func() { accepted.Annotations[meta.AnnotationKeyRecreate] = string(accepted.UID) })
	for _, o := range tenants {
		w.executes(t, o.Name, o.Name, "CREATE TABLE items AS SELECT 1")
		w.deletes(t, o)
	}
	role := postgresql.Role{Name: "others-role", Login: ptr.To(true), Labels: map[string]string{meta.ExternalLabelUID: "another"}}
	for _, given := range []postgresql.Role{role, {Name: "others-database", CreateDB: ptr.To(true), ValidUntil: ptr.To("2040-01-01T00:00:00Z")}} { // before an object names it
		_, err := postgresql.Create(t.Context(), w.server, given)
		if err := errors.Join(err, replace(given.Name)); err != nil {
			t.Fatal(err)
		}
		intruder := w.newTenant(t, "intruder-at-"+given.Name, func(o *v1alpha1.TenantDatabase) {
			o.Annotations = map[string]string{meta.AnnotationKeyExternalName: given.Name}
		})
		w.reports(t, intruder, "belong")
		w.Remove(t, intruder)
	}
	is, err := postgresql.Get(t.Context(), w.server, role)
	theirs, errDatabase = postgresql.Get(t.Context(), w.server, postgresql.Database{Name: "others-database"})
	if err := errors.Join(err, errDatabase); err != nil || is.Labels[meta.ExternalLabelUID] != "another" || theirs.CurrentOwner == theirs.Name {
		t.Errorf("role %+v, database %+v, error %v", is, theirs, err)
	}
	is, err = postgresql.Get(t.Context(), w.server, postgresql.Role{Name: "others-database"})
	if err != nil || len(is.Labels) > 0 || !*is.CreateDB || *is.ValidUntil == "infinity" {
		t.Errorf("role %+v of others, error %v", is, err)
	}
}
