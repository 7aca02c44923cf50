// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
	"github.com/bowline-dev/bowline/providertest"
)

// drifts has every kind of both scopes.
func drifts(s *postgresql.Server) map[string]providertest.Drift {
	return map[string]providertest.Drift{
		"cluster Database":  databaseDrift(s, &v1alpha1.Database{ObjectMeta: named("drifting")}),
		"Database":          databaseDrift(s, &namespacedv1alpha1.Database{ObjectMeta: named("team-drifting")}),
		"cluster Role":      roleDrift(s, &v1alpha1.Role{ObjectMeta: named("drifter")}),
		"Role":              roleDrift(s, &namespacedv1alpha1.Role{ObjectMeta: named("team-drifter")}),
		"cluster Schema":    schemaDrift(s, &v1alpha1.Schema{ObjectMeta: named("drifts")}),
		"Schema":            schemaDrift(s, &namespacedv1alpha1.Schema{ObjectMeta: named("team-drifts")}),
		"cluster Extension": extensionDrift(s, &v1alpha1.Extension{ObjectMeta: named("hstore")}),
		"Extension":         extensionDrift(s, &namespacedv1alpha1.Extension{ObjectMeta: named("citext")}),
		"TenantDatabase":    tenantDrift(s, &v1alpha1.TenantDatabase{ObjectMeta: named("drifting-tenant")}),
		"cluster Grant":     grantDrift(s, &v1alpha1.Grant{ObjectMeta: named("drift-grant")}, "pg_monitor"),
		"Grant":             grantDrift(s, &namespacedv1alpha1.Grant{ObjectMeta: named("drift-grant")}, "pg_read_all_data"),
	}
}

// state returns what one field of an object is on the server.
func state[T any](get func(context.Context) (*T, error), field func(*T) any) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		have, err := get(ctx)
		if err != nil {
			return nil, err
		}
		return field(have), nil
	}
}

func databaseDrift(s *postgresql.Server, o kind.Object[v1alpha1.DatabaseParameters, v1alpha1.DatabaseObservation]) providertest.Drift {
	o.Parameters().ConnectionLimit = ptr.To(7)
	return providertest.Drift{
		Object:  o,
		Creates: []string{"connectionLimit"},
		Taken:   func() any { return *o.Parameters().Encoding + o.Observation().CurrentOwner },
		Left:    func() any { return o.Parameters().Owner },
		Change: func(ctx context.Context) error {
			return postgresql.Update(ctx, s, postgresql.Database{Name: o.GetName(), ConnectionLimit: ptr.To(3)})
		},
		Want: []xpv1.FieldDifference{{Path: "connectionLimit", Desired: "7", Observed: "3"}},
		State: state(func(ctx context.Context) (*postgresql.Database, error) {
			return postgresql.Get(ctx, s, postgresql.Database{Name: o.GetName()})
		},
			func(d *postgresql.Database) any { return *d.ConnectionLimit }),
		Declared: 7,
	}
}

// tenantDrift lets all roles connect, and more at a time.
func tenantDrift(
	s *postgresql.Server, o kind.Object[v1alpha1.TenantDatabaseParameters, v1alpha1.TenantDatabaseObservation],
) providertest.Drift {
	o.Parameters().ConnectionLimit, o.Parameters().Public = ptr.To(7), ptr.To(false)
	allRoles := postgresql.Grant{
		Role: postgresql.Public, On: postgresql.Target{Kind: postgresql.OnDatabase, Database: o.GetName()}, Privileges: []string{"CONNECT"},
	}
	return providertest.Drift{
		Object:  o,
		Creates: []string{"connectionLimit", "public"},
		Taken:   func() any { return *o.Parameters().EngineVersion },
		Change: func(ctx context.Context) error {
			_, err := postgresql.Create(ctx, s, allRoles)
			return errors.Join(err, postgresql.Update(ctx, s, postgresql.Database{Name: o.GetName(), ConnectionLimit: ptr.To(9)}))
		},
		Want: []xpv1.FieldDifference{
			{Path: "connectionLimit", Desired: "7", Observed: "9"}, {Path: "public", Desired: "false", Observed: "true"},
		},
		State: func(ctx context.Context) (any, error) {
			d, err := postgresql.Get(ctx, s, postgresql.Database{Name: o.GetName()})
			if err != nil {
				return nil, err
			}
			r, err := postgresql.Get(ctx, s, postgresql.Role{Name: o.GetName()})
			if err != nil {
				return nil, err
			}
			_, err = postgresql.Get(ctx, s, allRoles)
			return fmt.Sprint(*d.ConnectionLimit, " ", *r.ConnectionLimit, " ", postgresql.IsNotFound(err)), nil
		},
		Declared: "7 7 true",
	}
}

func roleDrift(s *postgresql.Server, o kind.Object[v1alpha1.RoleParameters, v1alpha1.RoleObservation]) providertest.Drift {
	o.Parameters().CreateDB = ptr.To(true)
	return providertest.Drift{
		Object:  o,
		Creates: []string{"createDb"},
		Taken:   func() any { return *o.Parameters().ConnectionLimit },
		Change: func(ctx context.Context) error {
			return postgresql.Update(ctx, s, postgresql.Role{Name: o.GetName(), CreateDB: ptr.To(false)})
		},
		Want: []xpv1.FieldDifference{{Path: "createDb", Desired: "true", Observed: "false"}},
		State: state(func(ctx context.Context) (*postgresql.Role, error) {
			return postgresql.Get(ctx, s, postgresql.Role{Name: o.GetName()})
		},
			func(r *postgresql.Role) any { return *r.CreateDB }),
		Declared: true,
	}
}

func schemaDrift(s *postgresql.Server, o kind.Object[v1alpha1.SchemaParameters, v1alpha1.SchemaObservation]) providertest.Drift {
	o.Parameters().Database = ptr.To("postgres")
	o.Parameters().Comment = ptr.To("ours")
	return providertest.Drift{
		Object:  o,
		Creates: []string{"comment", "database"},
		Taken:   func() any { return o.Observation().CurrentOwner },
		Left:    func() any { return o.Parameters().Owner },
		Change: func(ctx context.Context) error {
			return postgresql.Update(ctx, s, postgresql.Schema{Database: "postgres", Name: o.GetName(), Comment: ptr.To("theirs")})
		},
		Want: []xpv1.FieldDifference{{Path: "comment", Desired: `"ours"`, Observed: `"theirs"`}},
		State: state(func(ctx context.Context) (*postgresql.Schema, error) {
			return postgresql.Get(ctx, s, postgresql.Schema{Database: "postgres", Name: o.GetName()})
		},
			func(h *postgresql.Schema) any { return *h.Comment }),
		Declared: "ours",
	}
}

func extensionDrift(
	s *postgresql.Server, o kind.Object[v1alpha1.ExtensionParameters, v1alpha1.ExtensionObservation],
) providertest.Drift {
	o.Parameters().Database = ptr.To("postgres")
	o.Parameters().Schema = ptr.To("public")
	elsewhere := "elsewhere-" + o.GetName()
	return providertest.Drift{
		Object:  o,
		Creates: []string{"database", "schema"},
		Taken:   func() any { return o.Observation().InstalledVersion },
		Left:    func() any { return o.Parameters().Version },
		Change: func(ctx context.Context) error {
			_, err := postgresql.Create(ctx, s, postgresql.Schema{Database: "postgres", Name: elsewhere})
			moved := postgresql.Extension{Database: "postgres", Name: o.GetName(), Schema: ptr.To(elsewhere)}
			return errors.Join(err, postgresql.Update(ctx, s, moved))
		},
		Want: []xpv1.FieldDifference{{Path: "schema", Desired: `"public"`, Observed: strconv.Quote(elsewhere)}},
		State: state(func(ctx context.Context) (*postgresql.Extension, error) {
			return postgresql.Get(ctx, s, postgresql.Extension{Database: "postgres", Name: o.GetName()})
		},
			func(x *postgresql.Extension) any { return *x.Schema }),
		Declared: "public",
	}
}

func grantDrift(
	s *postgresql.Server, o kind.Object[v1alpha1.GrantParameters, v1alpha1.GrantObservation], role string,
) providertest.Drift {
	o.Parameters().Role = ptr.To(role)
	o.Parameters().Privileges = []string{"connect"}
	o.Parameters().Target = v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: ptr.To("postgres")}
	held := postgresql.Grant{Role: role, On: postgresql.Target{Kind: postgresql.OnDatabase, Database: "postgres"}}
	return providertest.Drift{
		Object:  o,
		Creates: []string{"privileges", "role", "target.database", "target.kind"},
		Taken:   func() any { return *o.Parameters().GrantOption },
		Change: func(ctx context.Context) error {
			more := held
			more.Privileges = []string{"CONNECT", "CREATE"}
			return postgresql.Update(ctx, s, more)
		},
		Want: []xpv1.FieldDifference{{Path: "privileges", Desired: "[]", Observed: `["CREATE"]`}},
		State: state(func(ctx context.Context) (*postgresql.Grant, error) { return postgresql.Get(ctx, s, held) },
			func(g *postgresql.Grant) any { return fmt.Sprint(g.Privileges) }),
		Declared: "[CONNECT]",
	}
}

// changing matches the log of a statement that changes something.
var changing = regexp.MustCompile(`(?i)(statement|execute [^:]*): *(create|alter|drop|grant|revoke|comment|insert|update|delete)\b.*`)

func TestDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases := drifts(w.server)
	for _, d := range cases {
		w.place(t, d.Object)
	}
	writes := func(context.Context) (any, error) {
		log, err := w.postgres.Log()
		return len(changing.FindAllString(log, -1)), err
	}
	t.Run("is planned, reported, and settled (R40, R114, R149, R150, N8, P80, P81)", func(t *testing.T) { w.TestDrift(t, writes, cases) })
}

// ownSettings are of a tenant, and of a role with a database: Bowline neither stores nor reverts what the specs do not name. The last
// statement changes what the spec has, and so shows that the rest was observed and updated.
func ownSettings(t *testing.T, w *world) {
	tenant := w.newTenant(t, "tuned")
	strict := w.newTenant(t, "tuned-in-part", func(o *v1alpha1.TenantDatabase) {
		o.Spec.ForProvider.Settings = map[string]string{"work_mem": "8MB"}
	})
	role := &v1alpha1.Role{ObjectMeta: named("tuner")}
	role.Spec.ForProvider.Login = ptr.To(true)
	role.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: w.Namespace, Name: role.Name}
	d := &v1alpha1.Database{ObjectMeta: named("tuned-database")}
	d.Spec.ForProvider.Owner = ptr.To(role.Name)
	for _, mg := range []resource.Managed{role, d} {
		w.create(t, mg)
	}
	w.Settled(t, tenant, strict, role, d)
	tune := func(user, database, mem string, more ...string) {
		t.Helper()
		w.executes(t, user, database, append(more, fmt.Sprintf("COMMENT ON DATABASE %q IS '%s'", database, mem),
			fmt.Sprintf("ALTER DATABASE %q SET maintenance_work_mem TO '%s'", database, mem),
			fmt.Sprintf("ALTER ROLE CURRENT_USER SET maintenance_work_mem TO '%s'", mem),
			fmt.Sprintf("ALTER DATABASE %q CONNECTION LIMIT 9", database))...)
	}
	for _, mem := range []string{"2MB", "3MB"} {
		tune(tenant.Name, tenant.Name, mem)
		tune(strict.Name, strict.Name, mem, fmt.Sprintf("ALTER DATABASE %q SET work_mem TO '1MB'", strict.Name))
		tune(role.Name, d.Name, mem)
		own := map[string]string{"maintenance_work_mem": mem}
		for name, settings := range map[string]map[string]string{
			tenant.Name: own, d.Name: own, strict.Name: {"maintenance_work_mem": mem, "work_mem": "8MB"},
		} {
			w.Eventually(t, name+" has what the spec does not name, and what it names", func(ctx context.Context) error {
				have, err := postgresql.Get(ctx, w.server, postgresql.Database{Name: name})
				if err != nil {
					return err
				}
				if !cmp.Equal(have.Settings, settings) || *have.ConnectionLimit != -1 {
					return fmt.Errorf("settings %v, connection limit %d", have.Settings, *have.ConnectionLimit)
				}
				return nil
			})
		}
		if have, err := postgresql.Get(t.Context(), w.server, postgresql.Role{Name: role.Name}); err != nil || !cmp.Equal(have.Settings, own) {
			t.Errorf("the role has %v, %v", have, err)
		}
	}
	for _, mg := range []resource.Managed{tenant, strict, role, d} {
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(mg), mg); err != nil {
			t.Fatal(err)
		}
	}
	if tenant.Spec.ForProvider.Settings != nil || len(strict.Spec.ForProvider.Settings) != 1 || role.Spec.ForProvider.Settings != nil ||
		d.Spec.ForProvider.Settings != nil || d.Spec.ForProvider.Comment != nil {
		t.Errorf("late-initialized: %v, %v, %v, %v", tenant.Spec.ForProvider, strict.Spec.ForProvider, role.Spec.ForProvider, d.Spec.ForProvider)
	}
}

// forgedLabel is a comment by which a user gives the database to another object.
func forgedLabel(t *testing.T, w *world) {
	o := w.tenants(t, "forger")[0]
	for _, comment := range []string{"bowline: bowline-uid=another", "ours"} {
		w.executes(t, o.Name, o.Name, fmt.Sprintf("COMMENT ON DATABASE %q IS '%s'", o.Name, comment))
		w.Eventually(t, "the label is that of the object", func(ctx context.Context) error {
			have, err := postgresql.Get(ctx, w.server, postgresql.Database{Name: o.Name})
			if err == nil && have.Labels[meta.ExternalLabelUID] != string(o.GetUID()) {
				err = fmt.Errorf("it has %v", have.Labels)
			}
			return err
		})
	}
}
