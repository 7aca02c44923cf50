// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// stalled waits until an object has condition Stalled with a reason, and its message has the words.
func (w *world) stalled(t *testing.T, mg resource.Managed, reason failure.Reason, words string) {
	t.Helper()
	w.Eventually(t, fmt.Sprintf("%s reports %s", mg.GetName(), reason), func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		if c := mg.GetCondition(xpv1.TypeStalled); c.Reason != reason || !strings.Contains(c.Message, words) {
			return fmt.Errorf("it reports %s %q; %v", c.Reason, c.Message, mg.GetCondition(xpv1.TypeReady))
		}
		return nil
	})
}

// inPostgres returns a Schema of database postgres with the external name.
func inPostgres(name string) *v1alpha1.Schema {
	o := &v1alpha1.Schema{}
	o.Spec.ForProvider.Database, o.Spec.ForProvider.Cascade = ptr.To("postgres"), ptr.To(true)
	meta.SetExternalName(o, name)
	return o
}

func grantOf(role string, on v1alpha1.GrantTarget) *v1alpha1.Grant {
	o := &v1alpha1.Grant{}
	o.Spec.ForProvider.Role, o.Spec.ForProvider.Target, o.Spec.ForProvider.Privileges = &role, on, []string{"USAGE"}
	return o
}

// systemObjects are adopted by name, which is consent for other objects, and deleted.
func systemObjects(t *testing.T, w *world) {
	plpgsql := &v1alpha1.Extension{}
	plpgsql.Spec.ForProvider.Database = ptr.To("postgres")
	onSchema := func(name string) v1alpha1.GrantTarget {
		return v1alpha1.GrantTarget{Kind: ptr.To("Schema"), Database: ptr.To("postgres"), Schema: &name}
	}
	for name, o := range map[string]resource.Managed{
		"template1": &v1alpha1.Database{}, "pg_monitor": &v1alpha1.Role{},
		"template0": &v1alpha1.TenantDatabase{}, "none": &v1alpha1.TenantDatabase{},
		"plpgsql": plpgsql, "grant to a system role": grantOf("postgres", onSchema("public")),
		"grant to the provider":    grantOf(w.postgres.Config().Username, onSchema("public")),
		"grant on a system schema": grantOf("public", onSchema("pg_catalog")),
		"postgres":                 &v1alpha1.Database{}, "public": &namespacedv1alpha1.Role{},
		"information_schema": inPostgres("information_schema"), "pg_mine": inPostgres("pg_mine"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, isGrant := o.(*v1alpha1.Grant); strings.ContainsAny(name, "_ 0") || isGrant {
				o.SetName("system-" + strings.NewReplacer("_", "-", " ", "-").Replace(name))
				meta.SetExternalName(o, name)
			} else {
				o.SetName(name) // the default external name
			}
			w.create(t, o)
			w.stalled(t, o, failure.ExternalNameReserved, "choose another name")
		})
	}
	long, name := &v1alpha1.Role{ObjectMeta: named("long")}, strings.Repeat("x", 64)
	if _, err := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: name[:63]}); err != nil {
		t.Fatal(err)
	}
	meta.SetExternalName(long, name)
	w.create(t, long)
	w.stalled(t, long, failure.InvalidSettings, "too long")
	w.Remove(t, long)
	observed := &v1alpha1.Database{ObjectMeta: named("postgres")}
	observed.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
	w.create(t, observed)
	w.Settled(t, observed)
	named := &v1alpha1.Database{ObjectMeta: named("template1")} // one name for Kubernetes, and another for the server
	meta.SetExternalName(named, "of-template1")
	w.create(t, named)
	w.Settled(t, named)
	refusedObjects(t, w)
}

// refusedObjects are refused at admission.
func refusedObjects(t *testing.T, w *world) {
	config := func(endpoint string) client.Object {
		return &v1alpha1.ProviderConfig{ObjectMeta: named("c"), Spec: v1alpha1.ProviderConfigSpec{
			ProviderSpec: xpv1.ProviderSpec{Credentials: xpv1.ProviderCredentials{Source: xpv1.CredentialsSourceNone}}, Endpoint: &endpoint,
		}}
	}
	class := &v1alpha1.TenantDatabaseClass{ObjectMeta: named("c")}
	class.SpecTemplate.WriteConnectionSecretsToNamespace = "default"
	class.SpecTemplate.Claims.NamespaceSelector = &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like", Values: []string{"b"}}},
	}
	const long, address = "metadata.name: Too long: may not be more than 63 bytes", "a host name or an address and nothing else"
	for name, tc := range map[string]struct {
		object client.Object
		want   string // empty: accepted
	}{
		"a name of 64 bytes":                {&v1alpha1.Role{ObjectMeta: named(strings.Repeat("x", 64))}, long},
		"a name of 63 bytes":                {&v1alpha1.Role{ObjectMeta: named(strings.Repeat("x", 63))}, ""},
		"an endpoint that is a URL":         {config("postgres://db.example.org"), address},
		"an endpoint with a port":           {config("db.example.org:5432"), address},
		"an endpoint with credentials":      {config("admin:word@db.example.org"), address},
		"an endpoint that is a folder":      {config("/var/run/postgresql"), address},
		"an endpoint of two names":          {config("a.example.org,b.example.org"), address},
		"an endpoint that is a name":        {config("db_1.example.org"), ""},
		"an endpoint of version 6":          {config("2001:db8::1"), ""},
		"an endpoint of version 4":          {config("192.0.2.1"), ""},
		"namespaces by an unknown operator": {class, `Unsupported value: "Like"`},
	} {
		t.Run(name, func(t *testing.T) {
			w.place(t, tc.object)
			err := w.Client.Create(t.Context(), tc.object, client.DryRunAll)
			if (err == nil) != (tc.want == "") || err != nil && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "word@") {
				t.Errorf("the error contains the password: %v", err)
			}
		})
	}
}

// losesLabel removes the labels of a database, as its owner may: nothing shows any more which namespace it belongs to, so that it is not
// deleted before it is labelled again, and not left behind either.
func (w *world) losesLabel(t *testing.T, o *namespacedv1alpha1.Database) {
	t.Helper()
	labelled := postgresql.Database{Name: meta.GetExternalName(o), Labels: map[string]string{}}
	relabel := func(labels map[string]string) {
		t.Helper()
		labelled.Labels = labels
		if err := postgresql.Update(t.Context(), w.server, labelled); err != nil {
			t.Fatal(err)
		}
	}
	relabel(map[string]string{})
	w.stalled(t, o, failure.OwnershipUnproven, "ask your platform team")
	if o.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue {
		t.Errorf("Ready is %+v", o.GetCondition(xpv1.TypeReady))
	}
	if err := w.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	w.reports(t, o, "label it again with bowline-uid: "+string(o.UID))
	if _, err := postgresql.Get(t.Context(), w.server, labelled); err != nil {
		t.Errorf("the database is gone: %v", err)
	}
	relabel(map[string]string{meta.ExternalLabelUID: string(o.UID)})
	w.Eventually(t, "object and database are deleted", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the object exists: %v, %v", err, o.Status.Conditions)
		}
		if _, err := postgresql.Get(ctx, w.server, labelled); !postgresql.IsNotFound(err) {
			return fmt.Errorf("the database exists: %v", err)
		}
		return nil
	})
}

// adoptionRules are those of the ProviderConfig, which the runtime applies for every kind.
func adoptionRules(t *testing.T, w *world) {
	shared := &namespacedv1alpha1.ClusterProviderConfig{ObjectMeta: named(w.Namespace)}
	shared.Spec.Credentials = w.credentials("server")
	strict := &v1alpha1.ProviderConfig{ObjectMeta: named(w.Namespace + "-strict")}
	strict.Spec.Credentials, strict.Spec.Adoption = w.credentials("server"), xpv1.AdoptNone
	w.create(t, shared)
	w.create(t, strict)
	byHand := func(name, namespace string) {
		d := postgresql.Database{Name: name, Labels: map[string]string{meta.ExternalLabelNamespace: namespace}}
		if _, err := postgresql.Create(t.Context(), w.server, d); err != nil {
			t.Fatal(err)
		}
	}
	byHand("adopt-theirs", "payroll")
	byHand("adopt-ours", w.Namespace)
	place := func(o resource.ProviderConfigReferencer, name string, config xpv1.ProviderConfigReference) {
		o.(resource.Managed).SetName(name)
		meta.SetExternalName(o.(resource.Managed), name)
		w.Place(t, o.(client.Object))
		o.SetProviderConfigReference(&config)
		w.Create(t, o.(client.Object))
	}
	inNamespace := xpv1.ProviderConfigReference{Kind: xpv1.ClusterProviderConfigKind, Name: shared.Name}
	refused, forbidden, ours := &namespacedv1alpha1.Database{}, &v1alpha1.Database{}, &namespacedv1alpha1.Database{}
	place(refused, "adopt-theirs", inNamespace)
	place(forbidden, "adopt-theirs", xpv1.ProviderConfigReference{Name: strict.Name})
	place(ours, "adopt-ours", inNamespace)
	w.reports(t, refused, "labelled bowline-namespace: "+w.Namespace)
	w.reports(t, forbidden, "its spec.adoption is None")
	w.Settled(t, ours)
	if d, err := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: "adopt-ours"}); err != nil ||
		d.Labels[meta.ExternalLabelUID] != string(ours.UID) {
		t.Errorf("%+v, error %v", d, err)
	}
	w.losesLabel(t, ours)
	permit := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"adoption":"Any","adoptableNames":["adopt-*"]}}`))
	if err := w.Client.Patch(t.Context(), strict, permit); err != nil {
		t.Fatal(err)
	}
	w.Settled(t, forbidden)
}

// awayForAMoment renames a role until its Grants report that, and back: its privileges are still those of the Grants.
func (w *world) awayForAMoment(t *testing.T, role string, grants ...resource.Managed) {
	t.Helper()
	c := w.postgres.Config()
	admin, err := w.session(t, c.Username, string(c.Password), "postgres")
	if err != nil {
		t.Fatal(err)
	}
	for _, names := range [][2]string{{role, role + "-away"}, {role + "-away", role}} {
		if _, err := admin.Exec(t.Context(), fmt.Sprintf("ALTER ROLE %q RENAME TO %q", names[0], names[1])); err != nil {
			t.Fatal(err)
		}
		for _, o := range grants {
			if names[0] == role {
				w.reports(t, o, fmt.Sprintf("ALTER ROLE %q RENAME TO %q", names[1], role))
			}
		}
	}
	w.Settled(t, grants...)
}

// sharedGrants use a ClusterProviderConfig. PostgreSQL shows no owner of privileges: the status of the Grant that created them proves it.
func sharedGrants(t *testing.T, w *world) {
	shared := &namespacedv1alpha1.ClusterProviderConfig{ObjectMeta: named(w.Namespace + "-grants")}
	shared.Spec.Credentials, shared.Spec.Escalation = w.credentials("server"), v1alpha1.EscalateAny
	w.create(t, shared)
	on := postgresql.Target{Kind: postgresql.OnSchema, Database: "postgres", Schema: "public"}
	privileges := func(role string) error {
		_, err := postgresql.Get(t.Context(), w.server, postgresql.Grant{Role: role, On: on, Privileges: []string{"CREATE"}})
		return err
	}
	grant := func(role string, annotations map[string]string) *namespacedv1alpha1.Grant {
		if _, err := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: role}); err != nil {
			t.Fatal(err)
		}
		o := &namespacedv1alpha1.Grant{}
		o.Name, o.Annotations, o.Finalizers = role, annotations, []string{managed.Finalizer}
		p := &o.Spec.ForProvider
		p.Role, p.Privileges = &role, []string{"CREATE"}
		p.Target.Kind, p.Target.Database, p.Target.Schema = ptr.To("Schema"), &on.Database, &on.Schema
		w.Place(t, o)
		o.SetProviderConfigReference(&xpv1.ProviderConfigReference{Kind: xpv1.ClusterProviderConfigKind, Name: shared.Name})
		return o
	}
	forged := grant("payroll", map[string]string{
		meta.AnnotationKeyExternalName: "payroll", meta.AnnotationKeyExternalCreatePending: "2026-01-01T00:00:00Z",
		meta.AnnotationKeyExternalCreateSucceeded: "2026-01-01T00:00:01Z",
	})
	if _, err := postgresql.Create(t.Context(), w.server, postgresql.Grant{Role: "payroll", On: on, Privileges: []string{"CREATE"}}); err != nil {
		t.Fatal(err)
	}
	honest := grant("orders", nil)
	w.Create(t, forged)
	w.Create(t, honest)
	w.reports(t, forged, "nothing shows whose resources")
	w.Remove(t, forged)
	if err := privileges("payroll"); err != nil {
		t.Errorf("the privileges of another team: %v", err)
	}
	w.Settled(t, honest)
	if honest.Status.Ownership == nil {
		t.Error("no proof in the status")
	}
	grant("group", nil)
	member := teamMember("member", "group")
	member.Spec.ForProvider.Role = ptr.To("orders")
	w.through(t, shared.Name, member)
	w.Settled(t, member)
	w.awayForAMoment(t, "orders", honest, member)
	moved := grant("mine", nil)
	moved.Spec.ForProvider.Role, moved.Spec.InitProvider.Role = nil, ptr.To("mine")
	moved.Spec.ForProvider.RoleRef = &xpv1.Reference{Name: "nobody", Policy: &xpv1.Policy{Resolution: ptr.To(xpv1.ResolutionPolicyOptional)}}
	w.Create(t, moved)
	w.Settled(t, moved)
	moved.Spec.ForProvider.Role = ptr.To("payroll")
	if err := w.Client.Update(t.Context(), moved); !apierrors.IsInvalid(err) {
		t.Errorf("a Grant was moved to the privileges of another team: %v", err)
	}
	w.Remove(t, moved)
	if err := privileges("payroll"); err != nil {
		t.Errorf("the privileges of another team after a move: %v", err)
	}
	w.Remove(t, honest)
	if err := privileges("orders"); !postgresql.IsNotFound(err) {
		t.Errorf("the privileges of the object are not revoked: %v", err)
	}
}
