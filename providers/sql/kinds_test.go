// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/utils/ptr"

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
		"tenants have no access to each other (A43 N8 R55 R114 R206)":      twoTenants,
		"tenants whose creation was interrupted (N5 P65)":                  interruptedCreate,
		"tenants whose deletion was interrupted (R38)":                     interruptedDelete,
		"tenants that are refused (D27 N24)":                               foreignObjects,
		"tenants that are incomplete (A43)":                                halfTenant,
		"tenants with objects and privileges in other databases (R38 R55)": tiedTenants,
		"tenants while a template is in use":                               tenantWhileTemplateIsInUse,
		"connection limit of a tenant (N8 R206)":                           connectionLimit,
		"system objects and names that are too long (N24)":                 systemObjects,
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
