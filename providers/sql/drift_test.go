// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// A driftCase is a kind whose external resource somebody changes.
type driftCase struct {
	object resource.Managed
	taken  func() any                                      // what late initialization took over, nil for nothing
	left   func() *string                                  // what it must not take over, since others may change it
	change func(context.Context, *postgresql.Server) error // what somebody does
	want   []xpv1.FieldDifference                          // what is told while nothing may be done about it
	healed func(context.Context, *postgresql.Server) (any, error)
	as     any // what it is like again
}

// driftCases has every kind of cluster scope; kinds_test.go has the namespaced ones.
func driftCases() map[string]driftCase {
	return map[string]driftCase{
		"Database":  databaseDrift(),
		"Role":      roleDrift(),
		"Schema":    schemaDrift(),
		"Extension": extensionDrift(),
		"Grant":     grantDrift(),
	}
}

func databaseDrift() driftCase {
	database := &v1alpha1.Database{ObjectMeta: named("drifting")}
	database.Spec.ForProvider.ConnectionLimit = ptr.To(7)
	return driftCase{
		object: database,
		taken:  func() any { return *database.Spec.ForProvider.Encoding + database.Status.AtProvider.CurrentOwner },
		left:   func() *string { return database.Spec.ForProvider.Owner },
		change: func(ctx context.Context, s *postgresql.Server) error {
			return s.UpdateDatabase(ctx, postgresql.Database{Name: "drifting", ConnectionLimit: ptr.To(3)})
		},
		want: []xpv1.FieldDifference{{Path: "connectionLimit", Desired: "7", Observed: "3"}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			d, err := s.GetDatabase(ctx, "drifting")
			return *d.ConnectionLimit, err
		},
		as: 7,
	}
}

func roleDrift() driftCase {
	role := &v1alpha1.Role{ObjectMeta: named("drifter")}
	role.Spec.ForProvider.CreateDB = ptr.To(true)
	return driftCase{
		object: role,
		taken:  func() any { return *role.Spec.ForProvider.ConnectionLimit },
		change: func(ctx context.Context, s *postgresql.Server) error {
			return s.UpdateRole(ctx, postgresql.Role{Name: "drifter", CreateDB: ptr.To(false)})
		},
		want: []xpv1.FieldDifference{{Path: "createDb", Desired: "true", Observed: "false"}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			r, err := s.GetRole(ctx, "drifter")
			return *r.CreateDB, err
		},
		as: true,
	}
}

func schemaDrift() driftCase {
	schema := &v1alpha1.Schema{ObjectMeta: named("drifts")}
	schema.Spec.ForProvider.Database = ptr.To("postgres")
	schema.Spec.ForProvider.Comment = ptr.To("ours")
	return driftCase{
		object: schema,
		taken:  func() any { return schema.Status.AtProvider.CurrentOwner },
		left:   func() *string { return schema.Spec.ForProvider.Owner },
		change: func(ctx context.Context, s *postgresql.Server) error {
			return s.UpdateSchema(ctx, postgresql.Schema{Database: "postgres", Name: "drifts", Comment: ptr.To("theirs")})
		},
		want: []xpv1.FieldDifference{{Path: "comment", Desired: `"ours"`, Observed: `"theirs"`}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			h, err := s.GetSchema(ctx, "postgres", "drifts")
			return *h.Comment, err
		},
		as: "ours",
	}
}

func extensionDrift() driftCase {
	extension := &v1alpha1.Extension{ObjectMeta: named("hstore")}
	extension.Spec.ForProvider.Database = ptr.To("postgres")
	extension.Spec.ForProvider.Schema = ptr.To("public")
	return driftCase{
		object: extension,
		taken:  func() any { return extension.Status.AtProvider.InstalledVersion },
		left:   func() *string { return extension.Spec.ForProvider.Version },
		change: func(ctx context.Context, s *postgresql.Server) error {
			_, err := s.CreateSchema(ctx, postgresql.Schema{Database: "postgres", Name: "elsewhere"})
			moved := postgresql.Extension{Database: "postgres", Name: "hstore", Schema: ptr.To("elsewhere")}
			return errors.Join(err, s.UpdateExtension(ctx, moved))
		},
		want: []xpv1.FieldDifference{{Path: "schema", Desired: `"public"`, Observed: `"elsewhere"`}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			x, err := s.GetExtension(ctx, "postgres", "hstore")
			return *x.Schema, err
		},
		as: "public",
	}
}

func grantDrift() driftCase {
	grant := &v1alpha1.Grant{ObjectMeta: named("drift-grant")}
	grant.Spec.ForProvider.Role = ptr.To("pg_monitor")
	grant.Spec.ForProvider.Privileges = []string{"connect"}
	grant.Spec.ForProvider.Target = v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: ptr.To("postgres")}
	held := postgresql.Grant{Role: "pg_monitor", On: postgresql.Target{Kind: postgresql.OnDatabase, Database: "postgres"}}
	return driftCase{
		object: grant,
		taken:  func() any { return *grant.Spec.ForProvider.GrantOption },
		change: func(ctx context.Context, s *postgresql.Server) error {
			more := held
			more.Privileges = []string{"CONNECT", "CREATE"}
			return s.UpdateGrant(ctx, more)
		},
		want: []xpv1.FieldDifference{{Path: "privileges", Desired: "[]", Observed: `["CREATE"]`}},
		healed: func(ctx context.Context, s *postgresql.Server) (any, error) {
			g, err := s.GetGrant(ctx, held)
			return fmt.Sprint(g.Privileges), err
		},
		as: "[CONNECT]",
	}
}

// TestDrift makes an object of each kind, takes the right to change anything from it, changes the external resource by hand,
// sees what the object says, and gives the right back.
func TestDrift(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, tc := range driftCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.create(t, tc.object)
			w.ready(t, tc.object)
			if taken := fmt.Sprint(tc.taken()); taken == "" || taken == "<nil>" {
				t.Error("R149 nothing is taken over of what PostgreSQL chose")
			}
			if tc.left != nil && tc.left() != nil {
				t.Errorf("%q would be enforced, which nobody chose", *tc.left())
			}
			w.allow(t, tc.object, xpv1.ManagementActionObserve)
			if err := tc.change(t.Context(), w.server); err != nil {
				t.Fatal(err)
			}
			w.Eventually(t, "N8 the object tells what differs", func(ctx context.Context) error {
				if err := w.Client.Get(ctx, client.ObjectKeyFromObject(tc.object), tc.object); err != nil {
					return err
				}
				drift := tc.object.(resource.Drifting).GetDrift()
				if diff := cmp.Diff(tc.want, drift); diff != "" {
					return fmt.Errorf("-want +got:\n%s", diff)
				}
				return nil
			})
			w.allow(t, tc.object, xpv1.ManagementActionAll)
			w.Eventually(t, "it is as declared again", func(ctx context.Context) error {
				if got, err := tc.healed(ctx, w.server); err != nil || got != tc.as {
					return fmt.Errorf("it is %v, want %v; error %v", got, tc.as, err)
				}
				return nil
			})
		})
	}
}

// allow says what may be done with an object's external resource.
func (w *world) allow(t *testing.T, o resource.Managed, actions ...xpv1.ManagementAction) {
	t.Helper()
	w.Eventually(t, "the policies are stored", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		o.SetManagementPolicies(actions)
		return w.Client.Update(ctx, o)
	})
}
