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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit"
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
		"grant of privileges that the owner has (N24)":                     ownersGrant,
		"grant for an empty schema, of less than before (N69)":             narrowedGrant,
		"tenants have no access to each other (A43 N8 R55 R114 R206)":      twoTenants,
		"tenants whose creation was interrupted (N5 P65)":                  interruptedCreate,
		"databases whose creation was interrupted (N5 N6)":                 unfinishedDatabases,
		"objects that hold data and are gone (N38)":                        lostObjects,
		"databases that are dropped during a pass (N38)":                   droppedDuringPass,
		"objects that hold data and are replaced (N63)":                    replacedObjects,
		"databases that were renamed (N38)":                                renamedDatabases,
		"roles that were renamed (N38)":                                    renamedRoles,
		"objects in databases that were renamed (N85)":                     renamedPlaces,
		"grants of roles that were renamed (N85)":                          renamedGrantees,
		"grants in renamed databases with an empty successor (N85)":        replacedByEmpty,
		"objects in databases that are gone, or unknown (N85)":             placesWithoutName,
		"tenants whose deletion was interrupted (R38)":                     interruptedDelete,
		"tenants that are refused (D27 N24)":                               foreignObjects,
		"tenants that are incomplete (A43)":                                halfTenant,
		"tenants with objects and privileges in other databases (R38 R55)": tiedTenants,
		"connection limit of a tenant (N8 R206)":                           connectionLimit,
		"settings and comments that users of a database make (N8)":         ownSettings,
		"the label of a tenant's database (N23)":                           forgedLabel,
		"credentials that others changed (N8 P65)":                         changedCredentials,
		"credentials that must not be updated (N8)":                        unrepairedCredentials,
		"credentials for a provider that is no superuser (N8 P65)":         credentialsWithoutSuperuser,
		"credentials that are rotated (N50)":                               rotation,
		"credentials whose rotation is refused half-way (N50)":             refusedRotation,
		"credentials whose rotation was interrupted (N50)":                 interruptedRotation,
		"credentials that the user chooses are not rotated (N50)":          chosenPassword,
		"databases of others by their names (N48)":                         adoptionRules,
		"privileges of others by forged annotations (N54)":                 sharedGrants,
		"privileges on what others have meanwhile (N54 N63)":               replacedTargets,
		"system objects and names that are too long (N24)":                 systemObjects,
		"namespaces that share a server (N57)":                             confinement,
		"a database that its owner closes":                                 closedDatabase,
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

// halfTenant is created by a role that may create roles but no databases, until it may.
func halfTenant(t *testing.T, w *world) {
	limited := postgresql.Role{Name: "limited", Login: ptr.To(true), CreateRole: ptr.To(true), Password: "limited-password"}
	half := w.tenantOf(t, limited, "half")
	w.Eventually(t, "the creation is tried again and again", func(context.Context) error {
		log, err := w.postgres.Log()
		if n := strings.Count(log, `CREATE DATABASE "half"`); n < 4 {
			return fmt.Errorf("tried %d times, error %w", n, err)
		}
		return nil
	})
	if _, err := postgresql.Get(t.Context(), w.server, postgresql.Role{Name: half.Name}); err != nil {
		t.Fatal(err)
	}
	w.reports(t, half, "permission denied")
	if half.Status.BindingPhase != "" || half.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue {
		t.Errorf("phase %q, %v (A43)", half.Status.BindingPhase, half.GetCondition(xpv1.TypeReady))
	}
	if err := postgresql.Update(t.Context(), w.server, postgresql.Role{Name: limited.Name, CreateDB: ptr.To(true)}); err != nil {
		t.Fatal(err)
	}
	w.Settled(t, half)
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
	w.reports(t, rival, `role "contested" has CONNECT, TEMPORARY on database "postgres" already`)
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

// ownersGrant is of privileges that the role has as the owner.
func ownersGrant(t *testing.T, w *world) {
	_, err := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: "proprietor"})
	_, failed := postgresql.Create(t.Context(), w.server, postgresql.Database{Name: "property", Owner: ptr.To("proprietor")})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	o := grantOf("proprietor", v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: ptr.To("property")})
	o.ObjectMeta, o.Spec.ForProvider.Privileges = named("needless"), []string{"CONNECT"}
	w.create(t, o)
	w.reports(t, o, `on database "property" already, as the owner, and needs no Grant for that: external resource "needless" exists already and `+
		"was not created for this object: delete this object")
}

// narrowedGrant is for all tables of a schema that has none yet, and keeps that target.
func narrowedGrant(t *testing.T, w *world) {
	_, err := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: "narrowed"})
	_, failed := postgresql.Create(t.Context(), w.server, postgresql.Schema{Database: "postgres", Name: "narrowed"})
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
	grant := grantOf("narrowed", v1alpha1.GrantTarget{Kind: ptr.To("Table"), Database: ptr.To("postgres"), Schema: ptr.To("narrowed")})
	grant.Name, grant.Spec.ForProvider.Privileges = "narrowed", []string{"SELECT"}
	w.create(t, grant)
	w.Settled(t, grant)
	for _, settings := range []string{"forProvider", "initProvider"} {
		patch := fmt.Appendf(nil, `{"spec":{%q:{"target":{"kind":"Table","names":["orders"]}}}}`, settings)
		err := w.Client.Patch(t.Context(), grant.DeepCopy(), client.RawPatch(types.MergePatchType, patch), client.DryRunAll)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "create another grant instead") {
			t.Errorf("names in %s: %v", settings, err)
		}
	}
	w.Remove(t, grant)
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
