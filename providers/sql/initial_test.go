// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// TestWhereOnlyInitProviderSaysTheDatabase has a schema live its whole life in a database that spec.forProvider does not name.
func TestWhereOnlyInitProviderSaysTheDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	schema := &v1alpha1.Schema{ObjectMeta: named("initially")}
	schema.Spec.InitProvider.Database = ptr.To("postgres")
	schema.Spec.ForProvider.Comment = ptr.To("old")
	w.create(t, schema)
	w.Settled(t, schema)
	w.Eventually(t, "the comment is to change", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(schema), schema); err != nil {
			return err
		}
		schema.Spec.ForProvider.Comment = ptr.To("new")
		return w.Client.Update(ctx, schema)
	})
	w.Eventually(t, "the schema is updated where it is (R138)", func(ctx context.Context) error {
		have, err := postgresql.Get(ctx, w.server, postgresql.Schema{Database: "postgres", Name: "initially"})
		if err == nil && *have.Comment != "new" {
			err = errors.New("its comment is " + *have.Comment)
		}
		return err
	})
	if schema.Spec.ForProvider.Database != nil {
		t.Error("the database of initProvider was taken over (R146)")
	}
	if err := w.Client.Delete(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "the schema is deleted where it was (R138)", func(ctx context.Context) error {
		if _, err := postgresql.Get(ctx, w.server, postgresql.Schema{Database: "postgres", Name: "initially"}); !postgresql.IsNotFound(err) {
			return errors.New("it is there")
		}
		return nil
	})
}

// TestWhatOnlyInitProviderGrants has a grant change whose privileges spec.forProvider does not have.
func TestWhatOnlyInitProviderGrants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := postgresql.Create(t.Context(), w.server, postgresql.Role{Name: "reader"}); err != nil {
		t.Fatal(err)
	}
	grant := &v1alpha1.Grant{ObjectMeta: named("reads")}
	p := &grant.Spec.ForProvider
	p.Role, p.Target = ptr.To("reader"), v1alpha1.GrantTarget{Kind: ptr.To("Database"), Database: ptr.To("postgres")}
	grant.Spec.InitProvider.Privileges = []string{"CONNECT"}
	w.create(t, grant)
	w.Settled(t, grant)
	w.Eventually(t, "the grant is to be passed on", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(grant), grant); err != nil {
			return err
		}
		grant.Spec.ForProvider.GrantOption = ptr.To(true)
		return w.Client.Update(ctx, grant)
	})
	of := postgresql.Grant{Role: "reader", On: postgresql.Target{Kind: postgresql.OnDatabase, Database: "postgres"}}
	w.Eventually(t, "what was granted stays (R144)", func(ctx context.Context) error {
		have, err := postgresql.Get(ctx, w.server, of)
		if err == nil && (have.GrantOption == nil || !*have.GrantOption) {
			err = errors.New("it is not to be passed on")
		}
		return err
	})
}
