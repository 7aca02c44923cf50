// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

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

// through has an object in the world's namespace use a ClusterProviderConfig.
func (w *world) through(t *testing.T, config string, o resource.Managed) {
	t.Helper()
	w.Place(t, o)
	o.(resource.ProviderConfigReferencer).SetProviderConfigReference(
		&xpv1.ProviderConfigReference{Kind: xpv1.ClusterProviderConfigKind, Name: config})
	w.Create(t, o)
}

func teamRole(name string, change func(*v1alpha1.RoleParameters)) *namespacedv1alpha1.Role {
	o := &namespacedv1alpha1.Role{ObjectMeta: named(name)}
	change(&o.Spec.ForProvider)
	return o
}

func teamMember(name, of string) *namespacedv1alpha1.Grant {
	o := &namespacedv1alpha1.Grant{ObjectMeta: named(name)}
	o.Spec.ForProvider.Role = ptr.To("confined")
	o.Spec.ForProvider.Target = v1alpha1.GrantTarget{Kind: ptr.To("Role"), Role: &of}
	return o
}

func teamDatabase(name, owner string) *namespacedv1alpha1.Database {
	o := &namespacedv1alpha1.Database{ObjectMeta: named(name)}
	o.Spec.ForProvider.Owner = &owner
	return o
}

// shared is a configuration for all namespaces.
func (w *world) shared(t *testing.T, name string) *namespacedv1alpha1.ClusterProviderConfig {
	t.Helper()
	shared := &namespacedv1alpha1.ClusterProviderConfig{ObjectMeta: named(w.Namespace + "-" + name)}
	shared.Spec.Credentials, shared.Spec.Limits = w.credentials("server"), &xpv1.CallLimits{DeletionsPerMinute: new(int32(0))}
	w.create(t, shared)
	return shared
}

// confinement is that of objects in a namespace through a configuration of all namespaces.
func confinement(t *testing.T, w *world) {
	shared := w.shared(t, "confined")
	theirs := postgresql.Role{Name: "of-others", Labels: map[string]string{meta.ExternalLabelNamespace: "payroll"}}
	given := postgresql.Role{Name: "given", Labels: map[string]string{meta.ExternalLabelNamespace: w.Namespace}}
	for _, r := range []postgresql.Role{theirs, given} {
		if _, err := postgresql.Create(t.Context(), w.server, r); err != nil {
			t.Fatal(err)
		}
	}
	payroll := postgresql.Database{Name: "payroll", Labels: theirs.Labels, Owner: &given.Name} // the label counts, not the owner
	plain, foreign := postgresql.Database{Name: "plain", Owner: &given.Name}, postgresql.Database{Name: "foreign", Owner: &theirs.Name}
	for _, d := range []postgresql.Database{payroll, plain, foreign} {
		if _, err := postgresql.Create(t.Context(), w.server, d); err != nil {
			t.Fatal(err)
		}
	}
	yes, no := ptr.To(true), ptr.To(false)
	own := teamRole("confined", func(p *v1alpha1.RoleParameters) { p.Login, p.CreateDB, p.Superuser = yes, no, no })
	w.through(t, shared.Name, own)
	w.Settled(t, own)
	schema := &namespacedv1alpha1.Schema{ObjectMeta: named("confined-schema")}
	schema.Spec.ForProvider.Database, schema.Spec.ForProvider.Owner = ptr.To("confined-db"), &theirs.Name
	into := func(database string) *namespacedv1alpha1.Schema {
		o := &namespacedv1alpha1.Schema{ObjectMeta: named("confined-into-" + database)}
		o.Spec.ForProvider.Database = &database
		return o
	}
	reader, clone := teamMember("confined-reader", ""), teamDatabase("confined-clone", own.Name)
	reader.Spec.ForProvider.Target = v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: &payroll.Name}
	reader.Spec.ForProvider.Privileges, clone.Spec.ForProvider.Template = []string{"TEMPORARY"}, &payroll.Name
	hidden := teamDatabase("confined-hidden", theirs.Name)
	hidden.Spec.ForProvider.Settings = map[string]string{"role": "confined-missing"} // what does not exist yet hides no refusal
	initially := &namespacedv1alpha1.Role{ObjectMeta: named("confined-initially")}
	initially.Spec.InitProvider.Superuser = yes
	permitted := []resource.Managed{teamDatabase("confined-db", own.Name), teamMember("confined-given", given.Name),
		teamDatabase("confined-system", w.postgres.Config().Username), into(plain.Name)}
	refused := map[resource.Managed]string{
		teamRole("confined-root", func(p *v1alpha1.RoleParameters) { p.Superuser, p.CreateRole = yes, yes }): "createRole, superuser would give",
		teamRole("confined-rls", func(p *v1alpha1.RoleParameters) { p.BypassRLS = yes }):                     "bypassRls would give",
		teamRole("confined-copy", func(p *v1alpha1.RoleParameters) { p.Replication = yes }):                  "replication would give",
		teamRole("confined-maker", func(p *v1alpha1.RoleParameters) { p.CreateDB = yes }):                    "createDb would give",
		hidden:    `owner "of-others" is not a role of`,
		initially: "superuser would give", schema: `owner "of-others" is not a role of`,
		teamMember("confined-member", theirs.Name):                  `target.role "of-others" is not a role of namespace`,
		teamMember("confined-program", "pg_execute_server_program"): `"pg_execute_server_program" is not a role of`,
		teamDatabase("confined-evil", theirs.Name):                  `owner "of-others" is not a role of`,
		into(payroll.Name): `database "payroll" is not a database of`, into(foreign.Name): `database "foreign" is not a database of`,
		reader: `target.database "payroll" is not a database of`, clone: `template "payroll" is not a database of`,
	}
	for _, o := range permitted {
		w.through(t, shared.Name, o)
	}
	w.Settled(t, permitted...)
	w.refuses(t, shared, refused)
	missing := teamMember("confined-early", "not-yet")
	w.through(t, shared.Name, missing)
	w.reports(t, missing, `"not-yet" does not exist`)
	later := theirs
	later.Name = "not-yet"
	if _, err := postgresql.Create(t.Context(), w.server, later); err != nil {
		t.Fatal(err)
	}
	w.stalled(t, missing, failure.EscalationRefused, "is not a role of namespace")
	refused[missing] = ""
	_, noRole := postgresql.Get(t.Context(), w.server, postgresql.Role{Name: "confined-root"})
	_, noDatabase := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: "confined-evil"})
	_, noMember := postgresql.Get(t.Context(), w.server, postgresql.Grant{
		Role: own.Name, On: postgresql.Target{Kind: postgresql.OnRole, Role: theirs.Name},
	})
	if !postgresql.IsNotFound(noRole) || !postgresql.IsNotFound(noDatabase) || !postgresql.IsNotFound(noMember) {
		t.Errorf("something was created: %v", errors.Join(noRole, noDatabase, noMember))
	}
	w.escalated(t, shared, refused, func() {
		if r, err := postgresql.Get(t.Context(), w.server, postgresql.Role{Name: "confined-root"}); err != nil || !*r.Superuser {
			t.Errorf("the role was changed: %+v, %v", r, err)
		}
	})
}

// replacedTargets are dropped while their Grants are paused, and created again by another namespace with the same privileges.
func replacedTargets(t *testing.T, w *world) {
	shared, team, theirs := w.shared(t, "replaced"), map[string]string{meta.ExternalLabelNamespace: w.Namespace},
		map[string]string{meta.ExternalLabelNamespace: "payroll"}
	d, r, member := postgresql.Database{Name: "swap"}, postgresql.Role{Name: "swap"}, postgresql.Role{Name: "confined-swap", Labels: team}
	create := func(labels map[string]string) error {
		d.Labels, r.Labels = labels, labels
		_, noDatabase := postgresql.Create(t.Context(), w.server, d)
		_, noRole := postgresql.Create(t.Context(), w.server, r)
		return errors.Join(noDatabase, noRole)
	}
	_, err := postgresql.Create(t.Context(), w.server, member)
	if err := errors.Join(err, create(team)); err != nil {
		t.Fatal(err)
	}
	of, on := teamMember("swap-role", r.Name), teamMember("swap-database", "")
	on.Spec.ForProvider.Target = v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: &d.Name}
	on.Spec.ForProvider.Privileges = []string{"CREATE"}
	for _, o := range []*namespacedv1alpha1.Grant{of, on} {
		o.Spec.ForProvider.Role = &member.Name
		w.through(t, shared.Name, o)
		w.Settled(t, o)
		w.merge(t, o, `{"metadata":{"annotations":{%q:"true"}}}`, meta.AnnotationKeyReconciliationPaused)
	}
	err = errors.Join(postgresql.ForceDelete(t.Context(), w.server, d), postgresql.Delete(t.Context(), w.server, r), create(theirs))
	for _, g := range []postgresql.Grant{{Role: member.Name, On: postgresql.Target{Kind: "Role", Role: r.Name}},
		{Role: member.Name, On: postgresql.Target{Kind: "Database", Database: d.Name}, Privileges: []string{"CREATE"}}} {
		_, failed := postgresql.Create(t.Context(), w.server, g)
		if err := errors.Join(err, failed); err != nil {
			t.Fatal(err)
		}
		o := map[postgresql.TargetKind]*namespacedv1alpha1.Grant{"Role": of, "Database": on}[g.On.Kind]
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.merge(t, o, `{"metadata":{"annotations":{%q:null}}}`, meta.AnnotationKeyReconciliationPaused)
		w.Eventually(t, o.Name+" is deleted", testkit.Gone(w.Client, o))
		if _, err := postgresql.Get(t.Context(), w.server, g); err != nil {
			t.Errorf("the privileges of another namespace on %s: %v", g.On, err)
		}
	}
}

// closedDatabase is open to all logins until its owner closes it, and then to those with a Grant.
func closedDatabase(t *testing.T, w *world) {
	owner, guest, stranger := w.newLogin(t, "closed-owner"), w.newLogin(t, "closed-guest"), w.newLogin(t, "closed-stranger")
	d := &v1alpha1.Database{ObjectMeta: named("closed-database")}
	d.Spec.ForProvider.Owner = &owner.Name
	w.Settled(t, owner, guest, stranger)
	w.create(t, d)
	w.Settled(t, d)
	w.executes(t, stranger.Name, d.Name, "SELECT 1")
	connects := grantOf(guest.Name, v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: &d.Name})
	connects.ObjectMeta, connects.Spec.ForProvider.Privileges = named("closed-guest"), []string{"CONNECT"}
	w.create(t, connects)
	w.Settled(t, connects)
	w.executes(t, owner.Name, d.Name, fmt.Sprintf("REVOKE CONNECT, TEMPORARY ON DATABASE %q FROM PUBLIC", d.Name))
	w.Change(t, d, func() { d.Spec.ForProvider.ConnectionLimit = ptr.To(9) })
	w.executes(t, owner.Name, d.Name, "SELECT 1")
	w.executes(t, guest.Name, d.Name, "SELECT 1")
	if err := w.open(t, w.secret(t, stranger.Name), d.Name); err == nil {
		t.Error("another login can connect")
	}
}

// refuses creates objects, each of which is refused with its words.
func (w *world) refuses(t *testing.T, shared *namespacedv1alpha1.ClusterProviderConfig, refused map[resource.Managed]string) {
	t.Helper()
	for o, words := range refused {
		w.through(t, shared.Name, o)
		w.stalled(t, o, failure.EscalationRefused, "ask your platform team")
		w.reports(t, o, words)
		if message := o.GetCondition(xpv1.TypeSynced).Message; !strings.Contains(message, "set spec.escalation of ClusterProviderConfig") {
			t.Errorf("the message for the platform team is %q", message)
		}
	}
}

func (w *world) merge(t *testing.T, o client.Object, patch string, arguments ...any) {
	t.Helper()
	if err := w.Client.Patch(t.Context(), o, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, patch, arguments...))); err != nil {
		t.Fatal(err)
	}
}

// escalated permits what was refused, and refuses it again.
func (w *world) escalated(
	t *testing.T, shared *namespacedv1alpha1.ClusterProviderConfig, refused map[resource.Managed]string, unchanged func(),
) {
	t.Helper()
	w.merge(t, shared, `{"spec":{"escalation":%q}}`, v1alpha1.EscalateAny)
	for o := range refused {
		w.Settled(t, o)
	}
	w.merge(t, shared, `{"spec":{"escalation":%q}}`, v1alpha1.EscalateNone)
	for o := range refused { // is reported, not changed, and can be deleted
		w.stalled(t, o, failure.EscalationRefused, "ask your platform team")
	}
	unchanged()
	for o := range refused {
		w.Remove(t, o)
	}
}

// ownedDatabase keeps its owner from being deleted, which is reported with what to do.
func ownedDatabase(t *testing.T, w *world) {
	owner := &v1alpha1.Role{ObjectMeta: named("owning")}
	w.create(t, owner)
	w.Settled(t, owner)
	d := postgresql.Database{Name: "owned", Owner: &owner.Name}
	if _, err := postgresql.Create(t.Context(), w.server, d); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	w.reports(t, owner, `owner of database owned`)
	if failed := xpv1.FailureOf(owner); failed.Reason != failure.ExternalResourceInUse || failed.Message == "" {
		t.Errorf("the failure is %+v", failed)
	}
	w.Eventually(t, "the database is dropped", func(ctx context.Context) error { return postgresql.Delete(ctx, w.server, d) })
	w.Eventually(t, "the role is deleted", testkit.Gone(w.Client, owner))
}
