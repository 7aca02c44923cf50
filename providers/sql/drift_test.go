// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/service"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// A driftCase is a kind whose external resource somebody changes.
type driftCase struct {
	object  resource.Managed
	creates []string                                        // the fields that a creation would set
	taken   func() any                                      // what late initialization took over, nil for nothing
	left    func() *string                                  // what it must not take over, since others may change it
	change  func(context.Context, *postgresql.Server) error // what somebody does
	want    []xpv1.FieldDifference                          // what is told while nothing may be done about it
	healed  func(context.Context, *postgresql.Server) (any, error)
	as      any // what it is like again
}

// driftCases has every kind of both scopes.
func driftCases() map[string]driftCase {
	return map[string]driftCase{
		"cluster Database":  databaseDrift(&v1alpha1.Database{ObjectMeta: named("drifting")}),
		"Database":          databaseDrift(&namespacedv1alpha1.Database{ObjectMeta: named("team-drifting")}),
		"cluster Role":      roleDrift(&v1alpha1.Role{ObjectMeta: named("drifter")}),
		"Role":              roleDrift(&namespacedv1alpha1.Role{ObjectMeta: named("team-drifter")}),
		"cluster Schema":    schemaDrift(&v1alpha1.Schema{ObjectMeta: named("drifts")}),
		"Schema":            schemaDrift(&namespacedv1alpha1.Schema{ObjectMeta: named("team-drifts")}),
		"cluster Extension": extensionDrift(&v1alpha1.Extension{ObjectMeta: named("hstore")}),
		"Extension":         extensionDrift(&namespacedv1alpha1.Extension{ObjectMeta: named("citext")}),
		"TenantDatabase":    tenantDrift(&v1alpha1.TenantDatabase{ObjectMeta: named("drifting-tenant")}),
		"cluster Grant":     grantDrift(&v1alpha1.Grant{ObjectMeta: named("drift-grant")}, "pg_monitor"),
		"Grant":             grantDrift(&namespacedv1alpha1.Grant{ObjectMeta: named("drift-grant")}, "pg_read_all_data"),
	}
}

func databaseDrift(o service.Object[v1alpha1.DatabaseParameters, v1alpha1.DatabaseObservation]) driftCase {
	o.Parameters().ConnectionLimit = ptr.To(7)
	return driftCase{
		object:  o,
		creates: []string{"connectionLimit"},
		taken:   func() any { return *o.Parameters().Encoding + o.Observation().CurrentOwner },
		left:    func() *string { return o.Parameters().Owner },
		change: func(ctx context.Context, s *postgresql.Server) error {
			return s.UpdateDatabase(ctx, postgresql.Database{Name: o.GetName(), ConnectionLimit: ptr.To(3)})
		},
		want: []xpv1.FieldDifference{{Path: "connectionLimit", Desired: "7", Observed: "3"}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			d, err := s.GetDatabase(ctx, o.GetName())
			if err != nil {
				return nil, err
			}
			return *d.ConnectionLimit, nil
		},
		as: 7,
	}
}

// tenantDrift has somebody let all roles connect, and more at a time.
func tenantDrift(o service.Object[v1alpha1.TenantDatabaseParameters, v1alpha1.TenantDatabaseObservation]) driftCase {
	o.Parameters().ConnectionLimit, o.Parameters().Public = ptr.To(7), ptr.To(false)
	everybody := postgresql.Grant{
		Role: postgresql.Public, On: postgresql.Target{Kind: postgresql.OnDatabase, Database: o.GetName()}, Privileges: []string{"CONNECT"},
	}
	return driftCase{
		object:  o,
		creates: []string{"connectionLimit", "public"},
		taken:   func() any { return *o.Parameters().EngineVersion },
		change: func(ctx context.Context, s *postgresql.Server) error {
			_, err := s.CreateGrant(ctx, everybody)
			return errors.Join(err, s.UpdateDatabase(ctx, postgresql.Database{Name: o.GetName(), ConnectionLimit: ptr.To(9)}))
		},
		want: []xpv1.FieldDifference{
			{Path: "connectionLimit", Desired: "7", Observed: "9"}, {Path: "public", Desired: "false", Observed: "true"},
		},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			d, err := s.GetDatabase(ctx, o.GetName())
			if err != nil {
				return nil, err
			}
			_, err = s.GetGrant(ctx, everybody)
			return fmt.Sprint(*d.ConnectionLimit, " ", postgresql.IsNotFound(err)), nil
		},
		as: "7 true",
	}
}

func roleDrift(o service.Object[v1alpha1.RoleParameters, v1alpha1.RoleObservation]) driftCase {
	o.Parameters().CreateDB = ptr.To(true)
	return driftCase{
		object:  o,
		creates: []string{"createDb"},
		taken:   func() any { return *o.Parameters().ConnectionLimit },
		change: func(ctx context.Context, s *postgresql.Server) error {
			return s.UpdateRole(ctx, postgresql.Role{Name: o.GetName(), CreateDB: ptr.To(false)})
		},
		want: []xpv1.FieldDifference{{Path: "createDb", Desired: "true", Observed: "false"}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			r, err := s.GetRole(ctx, o.GetName())
			if err != nil {
				return nil, err
			}
			return *r.CreateDB, nil
		},
		as: true,
	}
}

func schemaDrift(o service.Object[v1alpha1.SchemaParameters, v1alpha1.SchemaObservation]) driftCase {
	o.Parameters().Database = ptr.To("postgres")
	o.Parameters().Comment = ptr.To("ours")
	return driftCase{
		object:  o,
		creates: []string{"comment", "database"},
		taken:   func() any { return o.Observation().CurrentOwner },
		left:    func() *string { return o.Parameters().Owner },
		change: func(ctx context.Context, s *postgresql.Server) error {
			return s.UpdateSchema(ctx, postgresql.Schema{Database: "postgres", Name: o.GetName(), Comment: ptr.To("theirs")})
		},
		want: []xpv1.FieldDifference{{Path: "comment", Desired: `"ours"`, Observed: `"theirs"`}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			h, err := s.GetSchema(ctx, "postgres", o.GetName())
			if err != nil {
				return nil, err
			}
			return *h.Comment, nil
		},
		as: "ours",
	}
}

func extensionDrift(o service.Object[v1alpha1.ExtensionParameters, v1alpha1.ExtensionObservation]) driftCase {
	o.Parameters().Database = ptr.To("postgres")
	o.Parameters().Schema = ptr.To("public")
	elsewhere := "elsewhere-" + o.GetName()
	return driftCase{
		object:  o,
		creates: []string{"database", "schema"},
		taken:   func() any { return o.Observation().InstalledVersion },
		left:    func() *string { return o.Parameters().Version },
		change: func(ctx context.Context, s *postgresql.Server) error {
			_, err := s.CreateSchema(ctx, postgresql.Schema{Database: "postgres", Name: elsewhere})
			moved := postgresql.Extension{Database: "postgres", Name: o.GetName(), Schema: ptr.To(elsewhere)}
			return errors.Join(err, s.UpdateExtension(ctx, moved))
		},
		want: []xpv1.FieldDifference{{Path: "schema", Desired: `"public"`, Observed: strconv.Quote(elsewhere)}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			x, err := s.GetExtension(ctx, "postgres", o.GetName())
			if err != nil {
				return nil, err
			}
			return *x.Schema, nil
		},
		as: "public",
	}
}

func grantDrift(o service.Object[v1alpha1.GrantParameters, v1alpha1.GrantObservation], role string) driftCase {
	o.Parameters().Role = ptr.To(role)
	o.Parameters().Privileges = []string{"connect"}
	o.Parameters().Target = v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: ptr.To("postgres")}
	held := postgresql.Grant{Role: role, On: postgresql.Target{Kind: postgresql.OnDatabase, Database: "postgres"}}
	return driftCase{
		object:  o,
		creates: []string{"privileges", "role", "target.database", "target.kind"},
		taken:   func() any { return *o.Parameters().GrantOption },
		change: func(ctx context.Context, s *postgresql.Server) error {
			more := held
			more.Privileges = []string{"CONNECT", "CREATE"}
			return s.UpdateGrant(ctx, more)
		},
		want: []xpv1.FieldDifference{{Path: "privileges", Desired: "[]", Observed: `["CREATE"]`}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			g, err := s.GetGrant(ctx, held)
			if err != nil {
				return nil, err
			}
			return fmt.Sprint(g.Privileges), nil
		},
		as: "[CONNECT]",
	}
}

// TestDrift makes an object of each kind, takes the right to change anything from it, changes the external resource by hand,
// sees what the object says and what is planned, and gives the right back.
func TestDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases, p := driftCases(), w.planner(t)
	p.covers(t, cases)
	for name, tc := range cases {
		t.Run("N8 plan of a new "+name, func(t *testing.T) { p.creates(t, tc) })
	}
	for name, tc := range cases {
		t.Run("R40 R114 R149 R150 N8 P80 P81 "+name, func(t *testing.T) {
			t.Parallel()
			w.create(t, tc.object)
			w.ready(t, tc.object)
			if taken := fmt.Sprint(tc.taken()); taken == "" || taken == "<nil>" {
				t.Error("R149 nothing is taken over of what PostgreSQL chose")
			}
			if tc.left != nil && tc.left() != nil {
				t.Errorf("%q would be enforced, which nobody chose", *tc.left())
			}
			p.plans(t, "N8 nothing changed", tc.object, managed.Plan{Action: managed.PlanNothing})
			w.allow(t, tc.object, xpv1.ManagementActionObserve)
			if err := tc.change(t.Context(), w.server); err != nil {
				t.Fatal(err)
			}
			w.Eventually(t, "N8 P80 P81 the object tells what differs", func(ctx context.Context) error { return w.tells(ctx, tc.object, tc.want) })
			p.plansChanges(t, tc)
			w.allow(t, tc.object, xpv1.ManagementActionAll)
			w.Eventually(t, "R40 it is as declared again", func(ctx context.Context) error {
				if got, err := tc.healed(ctx, w.server); err != nil || got != tc.as {
					return fmt.Errorf("it is %v, want %v; error %v", got, tc.as, err)
				}
				return w.tells(ctx, tc.object, nil)
			})
		})
	}
}

// tells returns nil if the object's status says that this differs, in fields and in words.
func (w *world) tells(ctx context.Context, mg resource.Managed, want []xpv1.FieldDifference) error {
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
		return err
	}
	if diff := cmp.Diff(want, mg.(resource.Drifting).GetDrift()); diff != "" {
		return fmt.Errorf("status.drift -want +got:\n%s", diff)
	}
	said := mg.GetCondition(xpv1.TypeInSync)
	if (said.Status == corev1.ConditionTrue) != (len(want) == 0) {
		return fmt.Errorf("InSync is %s: %s", said.Status, said.Reason)
	}
	for _, field := range want {
		if said.Reason != xpv1.ReasonDrifted || !strings.Contains(said.Message, field.Path) {
			return fmt.Errorf("InSync says %s %q, without %s", said.Reason, said.Message, field.Path)
		}
	}
	return nil
}

// allow says what may be done with an object's external resource, and waits until no pass does anything else.
func (w *world) allow(t *testing.T, o resource.Managed, actions ...xpv1.ManagementAction) {
	t.Helper()
	w.Eventually(t, "the policies are stored", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		o.SetManagementPolicies(actions)
		return w.Client.Update(ctx, o)
	})
	w.Eventually(t, "the policies are obeyed", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if seen := o.GetCondition(xpv1.TypeSynced).ObservedGeneration; seen != o.GetGeneration() {
			return fmt.Errorf("generation %d, reconciled %d", o.GetGeneration(), seen)
		}
		return nil
	})
}
