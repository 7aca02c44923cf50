// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
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

// systemObjects are adopted by name, which is consent for other objects, and deleted.
func systemObjects(t *testing.T, w *world) {
	for name, o := range map[string]resource.Managed{
		"template1": &v1alpha1.Database{}, "postgres": &namespacedv1alpha1.Role{}, "pg_monitor": &v1alpha1.Role{},
		"template0": &v1alpha1.TenantDatabase{}, "none": &v1alpha1.TenantDatabase{},
		"information_schema": inPostgres("information_schema"), "pg_mine": inPostgres("pg_mine"),
	} {
		t.Run(name, func(t *testing.T) {
			o.SetName("system-" + strings.ReplaceAll(name, "_", "-"))
			meta.SetExternalName(o, name)
			w.create(t, o)
			w.stalled(t, o, failure.ExternalNameReserved, "choose another name")
		})
	}
	long := &v1alpha1.Role{ObjectMeta: named(strings.Repeat("x", 64))}
	if _, err := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: long.Name[:63]}); err != nil {
		t.Fatal(err)
	}
	w.create(t, long)
	w.stalled(t, long, failure.InvalidSettings, "too long")
	w.Remove(t, long)
	observed := &v1alpha1.Database{ObjectMeta: named("postgres")}
	observed.Spec.ManagementPolicies = xpv1.ManagementPolicies{xpv1.ManagementActionObserve}
	w.create(t, observed)
	w.Settled(t, observed)
	for _, o := range []client.Object{
		&v1alpha1.Database{ObjectMeta: named("template1")}, &namespacedv1alpha1.Role{ObjectMeta: named("public")},
		&v1alpha1.TenantDatabase{ObjectMeta: named("postgres")},
	} {
		w.place(t, o)
		if err := w.Client.Create(t.Context(), o); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "choose another") {
			t.Errorf("%T %s: %v", o, o.GetName(), err)
		}
	}
}
