// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
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

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

// All share one server.
func TestProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]func(*testing.T, *world){
		"objects of a team in any order":                                   team,
		"schema in a database of initProvider (R138 R146)":                 initialSchema,
		"grant with privileges of initProvider (R144)":                     initialGrant,
		"grant of privileges that another has (N6 N24)":                    rivalGrant,
		"tenants have no access to each other (A43 N8 R55 R114 R206)":      twoTenants,
		"tenants whose creation was interrupted (N5 P65)":                  interruptedCreate,
		"objects that hold data and are gone (N38)":                        lostObjects,
		"databases that are dropped during a pass (N38)":                   droppedDuringPass,
		"objects that hold data and are replaced (N63)":                    replacedObjects,
		"roles that were renamed (N38)":                                    renamedRoles,
		"tenants whose deletion was interrupted (R38)":                     interruptedDelete,
		"tenants that are refused (D27 N24)":                               foreignObjects,
		"tenants that are incomplete (A43)":                                halfTenant,
		"tenants with objects and privileges in other databases (R38 R55)": tiedTenants,
		"connection limit of a tenant (N8 R206)":                           connectionLimit,
		"settings and comments that users of a database make (N8)":         ownSettings,
		"credentials that others changed (N8 P65)":                         changedCredentials,
		"credentials that must not be updated (N8)":                        unrepairedCredentials,
		"credentials for a provider that is no superuser (N8 P65)":         credentialsWithoutSuperuser,
		"credentials that are rotated (N50)":                               rotation,
		"credentials whose rotation was interrupted (N50)":                 interruptedRotation,
		"credentials that the user chooses are not rotated (N50)":          chosenPassword,
		"databases of others by their names (N48)":                         adoptionRules,
		"privileges of others by forged annotations (N54)":                 sharedGrants,
		"system objects and names that are too long (N24)":                 systemObjects,
		"namespaces that share a server (N57)":                             confinement,
		"powers of superusers for namespaces (N66)":                        superpowers,
		"an owner of a database is not deleted":                            ownedDatabase,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, w)
		})
	}
}

// team creates the objects of examples/sql in the wrong order, uses them and deletes them.
func team(t *testing.T, w *world) {
	all := w.example(t, "team.yaml")
	for _, o := range slices.Backward(all) {
		w.create(t, o)
	}
	w.Settled(t, all...)
	if err := w.open(t, w.secret(t, "orders-app"), "orders"); err != nil {
		t.Errorf("connecting with the connection Secret: %v", err)
	}
	d, errDatabase := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: "orders"})
	on := postgresql.Target{Kind: postgresql.OnSchema, Database: "orders", Schema: "sales"}
	g, errGrant := postgresql.Get(t.Context(), w.server, postgresql.Grant{Role: "orders-report", On: on})
	if err := errors.Join(errDatabase, errGrant); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"orders-app", "USAGE"}, append([]string{*d.Owner}, g.Privileges...)); diff != "" {
		t.Errorf("referenced objects -want +got:\n%s", diff)
	}
	for _, o := range all {
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.Eventually(t, "all is deleted", func(ctx context.Context) error {
		_, errDatabase := postgresql.Get(ctx, w.server, postgresql.Database{Name: "orders"})
		_, errRole := postgresql.Get(ctx, w.server, postgresql.Role{Name: "orders-app"})
		if !postgresql.IsNotFound(errDatabase) || !postgresql.IsNotFound(errRole) {
			return errors.Join(errors.New("something exists"), errDatabase, errRole)
		}
		return nil
	})
}

// example returns the objects of a file in examples/sql.
func (w *world) example(t *testing.T, file string) []resource.Managed {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "sql", file))
	if err != nil {
		t.Fatal(err)
	}
	var all []resource.Managed
	strict := serializer.NewCodecFactory(w.Scheme, serializer.EnableStrict).UniversalDeserializer()
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		o, _, err := strict.Decode(document, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o.(resource.Managed))
	}
	return all
}

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

// renamedRoles are neither created again nor forgotten, also if others have their names meanwhile.
func renamedRoles(t *testing.T, w *world) {
	tenants := w.tenants(t, "renamed-tenant", "renamed-away", "renamed-replaced")
	role := w.newLogin(t, "renamed-role")
	w.Settled(t, role)
	all := []resource.Managed{tenants[0], tenants[1], tenants[2], role}
	c := w.postgres.Config()
	admin := map[string][]byte{"username": []byte(c.Username), "password": []byte(c.Password)}
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
	at := postgresql.Schema{Database: "postgres", Name: schema.Name}
	replace := func(name string) error {
		_, err := postgresql.Create(t.Context(), w.server, postgresql.Database{Name: name})
		return err
	}
	err := errors.Join(postgresql.Delete(t.Context(), w.server, at), postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: d.Name}),
		replace(d.Name), postgresql.ForceDelete(t.Context(), w.server, postgresql.Database{Name: deleted.Name}), replace(deleted.Name))
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
	for mg, oid := range map[resource.Managed]uint32{d: theirs.OID, schema: other.OID} {
		w.Change(t, mg, func() { mg.GetAnnotations()[meta.AnnotationKeyRestoredAs] = fmt.Sprint(oid) })
	}
}

// initialSchema is updated and deleted in a database that spec.forProvider does not name.
func initialSchema(t *testing.T, w *world) {
	schema := &v1alpha1.Schema{ObjectMeta: named("initially")}
	schema.Spec.InitProvider.Database = ptr.To("postgres")
	schema.Spec.ForProvider.Comment = ptr.To("old")
	w.create(t, schema)
	w.Settled(t, schema)
	w.Change(t, schema, func() { schema.Spec.ForProvider.Comment = ptr.To("new") })
	id := postgresql.Schema{Database: "postgres", Name: "initially"}
	if have, err := postgresql.Get(t.Context(), w.server, id); err != nil || *have.Comment != "new" {
		t.Errorf("got %+v, %v (R138)", have, err)
	}
	if schema.Spec.ForProvider.Database != nil {
		t.Error("the database of initProvider was late-initialized (R146)")
	}
	w.Remove(t, schema)
	if _, err := postgresql.Get(t.Context(), w.server, id); !postgresql.IsNotFound(err) {
		t.Errorf("the schema still exists: %v (R138)", err)
	}
}

// rivalGrant is for the role and the target of another Grant, whose privileges it neither changes nor revokes.
func rivalGrant(t *testing.T, w *world) {
	if _, err := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: "contested"}); err != nil {
		t.Fatal(err)
	}
	newGrant := func(name string, privileges ...string) *v1alpha1.Grant {
		o := grantOf("contested", v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: ptr.To("postgres")})
		o.ObjectMeta, o.Spec.ForProvider.Privileges = named(name), privileges
		w.create(t, o)
		return o
	}
	w.Settled(t, newGrant("first", "CONNECT", "TEMPORARY"))
	rival := newGrant("rival", "CREATE")
	w.reports(t, rival, "exists already and was not created for this object: delete this object or the one that created it")
	if err := w.Client.Delete(t.Context(), rival); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "the rival is deleted", testkit.Gone(w.Client, rival))
	on := postgresql.Target{Kind: postgresql.OnDatabase, Database: "postgres"}
	have, err := postgresql.Get(t.Context(), w.server, postgresql.Grant{Role: "contested", On: on})
	if err != nil || !cmp.Equal(have.Privileges, []string{"CONNECT", "TEMPORARY"}) {
		t.Errorf("got %+v, %v", have, err)
	}
}

// initialGrant changes while its privileges are not in spec.forProvider.
func initialGrant(t *testing.T, w *world) {
	if _, err := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: "reader"}); err != nil {
		t.Fatal(err)
	}
	grant := &v1alpha1.Grant{ObjectMeta: named("reads")}
	p := &grant.Spec.ForProvider
	p.Role, p.Target = ptr.To("reader"), v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: ptr.To("postgres")}
	grant.Spec.InitProvider.Privileges = []string{"CONNECT"}
	w.create(t, grant)
	w.Settled(t, grant)
	w.Change(t, grant, func() { grant.Spec.ForProvider.GrantOption = ptr.To(true) })
	on := postgresql.Target{Kind: postgresql.OnDatabase, Database: "postgres"}
	have, err := postgresql.Get(t.Context(), w.server, postgresql.Grant{Role: "reader", On: on})
	if err != nil || !*have.GrantOption || !cmp.Equal(have.Privileges, []string{"CONNECT"}) {
		t.Errorf("got %+v, %v (R144)", have, err)
	}
}
