// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// renameDatabase disconnects the provider meanwhile.
func (w *world) renameDatabase(t *testing.T, from, to string) {
	t.Helper()
	w.asAdmin(t, "postgres", fmt.Sprintf("ALTER DATABASE %q ALLOW_CONNECTIONS false", from))
	w.Eventually(t, from+" is renamed", func(context.Context) error {
		return w.open(t, w.admin(), "postgres", fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", from),
			fmt.Sprintf("ALTER DATABASE %q RENAME TO %q", from, to))
	})
	w.asAdmin(t, "postgres", fmt.Sprintf("ALTER DATABASE %q ALLOW_CONNECTIONS true", to))
}

func (w *world) admin() map[string][]byte {
	c := w.postgres.Config()
	return map[string][]byte{"username": []byte(c.Username), "password": []byte(c.Password)}
}

func (w *world) asAdmin(t *testing.T, database string, statements ...string) {
	t.Helper()
	if err := w.open(t, w.admin(), database, statements...); err != nil {
		t.Fatal(err)
	}
}

// left counts what objects whose names begin with a prefix have in a database: schemas, extensions, and privileges and memberships of roles.
func (w *world) left(t *testing.T, database, prefix string) (n int) {
	t.Helper()
	c := w.postgres.Config()
	conn, err := w.session(t, c.Username, string(c.Password), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	err = conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_namespace WHERE nspname LIKE $1 || '%')
		+ (SELECT count(*) FROM pg_namespace WHERE nspacl::text LIKE '%' || $1 || '%') + (SELECT count(*) FROM pg_extension WHERE extname = 'citext')
		+ (SELECT count(*) FROM pg_database WHERE datacl::text LIKE '%' || $1 || '%')
		+ (SELECT count(*) FROM pg_auth_members WHERE pg_get_userbyid(member) LIKE $1 || '%')`, prefix).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// placed are objects of both scopes in a database, whose names begin with that of the database.
func (w *world) placed(t *testing.T, database string) []resource.Managed {
	t.Helper()
	_, err := postgresql.Create(t.Context(), w.server, postgresql.Database{Name: database})
	_, failed := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: database + "-reader"})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	schema, extension := &v1alpha1.Schema{ObjectMeta: named(database + "-schema")}, &namespacedv1alpha1.Extension{ObjectMeta: named(database + "-ext")}
	schema.Spec.ForProvider.Database, schema.Spec.ForProvider.Cascade = &database, ptr.To(true)
	extension.Spec.ForProvider.Database = &database
	meta.SetExternalName(extension, "citext")
	creates := grantOf(database+"-reader", v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: &database})
	creates.ObjectMeta, creates.Spec.ForProvider.Privileges = named(database+"-creates"), []string{"CREATE"}
	uses := &namespacedv1alpha1.Grant{ObjectMeta: named(database + "-uses")}
	uses.Spec.ForProvider = grantOf(database+"-reader", v1alpha1.GrantTarget{
		Kind: ptr.To("Schema"), Database: &database, Schema: &schema.Name}).Spec.ForProvider
	all := []resource.Managed{schema, extension, creates, uses}
	for _, mg := range all {
		w.create(t, mg)
		w.Settled(t, mg)
	}
	return all
}

// deleteAll requests the deletion of objects.
func (w *world) deleteAll(t *testing.T, all ...resource.Managed) {
	t.Helper()
	for _, mg := range all {
		if err := w.Client.Delete(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
	}
}

// renamedPlaces are databases with what objects have there, which stays as long as the database has another name, and no longer.
func renamedPlaces(t *testing.T, w *world) {
	const name = "lodging"
	all := w.placed(t, name)
	keeps, orphan := &v1alpha1.Schema{ObjectMeta: named("lodging-keeps")}, &v1alpha1.Schema{ObjectMeta: named("lodging-orphan")}
	extension := &v1alpha1.Extension{ObjectMeta: named("lodging-hstore")}
	meta.SetExternalName(extension, "hstore")
	for _, mg := range []*v1alpha1.Schema{keeps, orphan} {
		mg.Spec.ForProvider.Database = ptr.To(name)
	}
	extension.Spec.ForProvider.Database = ptr.To(name)
	for _, mg := range []resource.Managed{keeps, orphan, extension} {
		w.create(t, mg)
	}
	w.Settled(t, keeps, orphan, extension)
	had := w.left(t, name, name)
	w.renameDatabase(t, name, name+"-old")
	reportsRename := func(mg resource.Managed, words string) {
		t.Helper()
		w.stalled(t, mg, failure.ExternalResourceFailed, "the database was renamed in the server: ask your platform team")
		w.reports(t, mg, `rename it back by ALTER DATABASE "lodging-old" RENAME TO "lodging"; to `+words)
		if ready := mg.GetCondition(xpv1.TypeReady); ready.Equal(xpv1.Available()) || ready.Reason == xpv1.ReasonResourceLost {
			t.Errorf("%s is %v", mg.GetName(), ready)
		}
	}
	for _, mg := range append(all, keeps, orphan, extension) {
		reportsRename(mg, "create another one, set the annotation "+meta.AnnotationKeyRecreate)
	}
	w.deleteAll(t, all...)
	for _, mg := range all {
		reportsRename(mg, "keep it, set the annotation "+meta.AnnotationKeyOrphanOnDelete)
	}
	if _, err := postgresql.Create(t.Context(), w.server, postgresql.Database{Name: name}); err != nil {
		t.Fatal(err)
	}
	w.merge(t, orphan, `{"metadata":{"annotations":{%q:"true"}}}`, meta.AnnotationKeyOrphanOnDelete)
	w.deleteAll(t, orphan)
	w.Eventually(t, "the orphan is deleted", testkit.Gone(w.Client, orphan))
	for _, mg := range append(all, keeps, extension) { // beside the new database, too
		w.merge(t, mg, `{"metadata":{"annotations":{%q:"again"}}}`, meta.AnnotationKeyReconcileRequestedAt)
		w.handled(t, mg, "again")
		w.reports(t, mg, `ALTER DATABASE "lodging-old" RENAME TO "lodging"`)
	}
	if n, kept := w.left(t, name, name+"-"), w.left(t, name+"-old", name); n != 1 || kept != had { // the privileges in pg_database are shared
		t.Errorf("the new database has %d, the renamed one %d instead of %d", n, kept, had)
	}
	w.dropDatabase(t, name)
	w.renameDatabase(t, name+"-old", name)
	for _, mg := range all {
		w.Eventually(t, mg.GetName()+" is deleted", testkit.Gone(w.Client, mg))
	}
	w.Settled(t, keeps, extension)
	if n := w.left(t, name, name); n != 2 {
		t.Errorf("%d things are left, not the two schemas", n)
	}
}

// handled waits until a pass of an object ended after a request.
func (w *world) handled(t *testing.T, mg resource.Managed, request string) {
	t.Helper()
	w.Eventually(t, mg.GetName()+" is reconciled", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		u, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mg)
		if at, _, failed := unstructured.NestedString(u, "status", "lastHandledReconcileAt"); at != request {
			return fmt.Errorf("it handled %q, error %w", at, errors.Join(err, failed))
		}
		return nil
	})
}

// renamedGrantees are roles whose privileges and memberships stay as long as they have another name, and no longer.
func renamedGrantees(t *testing.T, w *world) {
	for _, name := range []string{"grantee", "grantees"} {
		if _, err := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	on := grantOf("grantee", v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: ptr.To("postgres")})
	on.ObjectMeta, on.Spec.ForProvider.Privileges = named("grantee-creates"), []string{"CREATE"}
	of := grantOf("grantee", v1alpha1.GrantTarget{Kind: ptr.To("Role"), Role: ptr.To("grantees")})
	of.ObjectMeta, of.Spec.ForProvider.Privileges = named("grantee-belongs"), nil
	for _, mg := range []resource.Managed{on, of} {
		w.create(t, mg)
		w.Settled(t, mg)
	}
	for _, role := range []string{"grantee", "grantees"} {
		w.asAdmin(t, "postgres", fmt.Sprintf("ALTER ROLE %q RENAME TO %q", role, role+"-old"))
	}
	w.deleteAll(t, on, of)
	w.reports(t, on, `ALTER ROLE "grantee-old" RENAME TO "grantee"; to keep it`)
	w.reports(t, of, `ALTER ROLE "grantees-old" RENAME TO "grantees"; to keep it`)
	w.stalled(t, on, failure.ExternalResourceFailed, "the role was renamed in the server")
	w.asAdmin(t, "postgres", `ALTER ROLE "grantees-old" RENAME TO grantees`)
	w.reports(t, of, `ALTER ROLE "grantee-old" RENAME TO "grantee"; to keep it`)
	w.asAdmin(t, "postgres", `ALTER ROLE "grantee-old" RENAME TO grantee`)
	for _, mg := range []resource.Managed{on, of} {
		w.Eventually(t, mg.GetName()+" is deleted", testkit.Gone(w.Client, mg))
	}
	if n := w.left(t, "postgres", "grantee"); n != 0 {
		t.Errorf("%d privileges and memberships are left", n)
	}
}

// placesWithoutName are a database that was dropped, and a renamed one of which the objects know no OID, as those of earlier versions.
func placesWithoutName(t *testing.T, w *world) {
	gone, unknown := w.placed(t, "vanished"), w.placed(t, "earlier")
	if err := postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: "vanished"}); err != nil {
		t.Fatal(err)
	}
	w.renameDatabase(t, "earlier", "earlier-old")
	for _, mg := range unknown {
		w.reports(t, mg, `ALTER DATABASE "earlier-old" RENAME TO "earlier"`)
		forget := client.RawPatch(types.MergePatchType, []byte(`{"status":{"atProvider":{"databaseOid":null,"targetOid":null,"roleOid":null}}}`))
		if err := w.Client.Status().Patch(t.Context(), mg, forget); err != nil {
			t.Fatal(err)
		}
	}
	all := append(gone, unknown...)
	w.deleteAll(t, all...)
	for _, mg := range all {
		w.Eventually(t, mg.GetName()+" is deleted", testkit.Gone(w.Client, mg))
	}
}

// dropDatabase deletes a database. PostgreSQL may refuse that for a moment, while controllers change privileges in pg_database.
func (w *world) dropDatabase(t *testing.T, name string) {
	t.Helper()
	w.Eventually(t, "the database is deleted", func(ctx context.Context) error {
		return postgresql.ForceDelete(ctx, w.server, postgresql.Database{Name: name})
	})
}

// replacedByEmpty is a renamed database beside a new one of its former name, whose schema public, without tables, gives a Grant nothing to
// compare.
func replacedByEmpty(t *testing.T, w *world) {
	const name = "vacant"
	_, err := postgresql.Create(t.Context(), w.server, postgresql.Database{Name: name})
	_, failed := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: name + "-reader"})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	w.asAdmin(t, name, "CREATE TABLE public.kept (a int)")
	reads := grantOf(name+"-reader", v1alpha1.GrantTarget{Kind: ptr.To("Table"), Database: ptr.To(name), Schema: ptr.To("public")})
	reads.ObjectMeta, reads.Spec.ForProvider.Privileges = named(name+"-reads"), []string{"SELECT"}
	w.create(t, reads)
	w.Settled(t, reads)
	w.renameDatabase(t, name, name+"-old")
	if _, err := postgresql.Create(t.Context(), w.server, postgresql.Database{Name: name}); err != nil {
		t.Fatal(err)
	}
	w.stalled(t, reads, failure.ExternalResourceFailed, "the database was renamed in the server")
	w.deleteAll(t, reads)
	w.merge(t, reads, `{"metadata":{"annotations":{%q:"again"}}}`, meta.AnnotationKeyReconcileRequestedAt)
	w.handled(t, reads, "again")
	w.reports(t, reads, `rename it back by ALTER DATABASE "vacant-old" RENAME TO "vacant"`)
	w.dropDatabase(t, name)
	w.renameDatabase(t, name+"-old", name)
	w.Eventually(t, "the Grant is deleted", testkit.Gone(w.Client, reads))
	w.asAdmin(t, name, `DROP ROLE "vacant-reader"`) // which would fail if it had privileges
}
