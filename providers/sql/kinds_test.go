// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/providers/sql"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func TestValidProvider(t *testing.T) {
	t.Parallel()
	if err := sql.Provider().Validate(); err != nil {
		t.Error(err)
	}
}

// TestTeam makes all that a team needs, in the wrong order, changes it and takes it away.
func TestTeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	schema := &namespacedv1alpha1.Schema{ObjectMeta: named("sales")}
	schema.Spec.ForProvider.DatabaseRef = &xpv1.Reference{Name: "orders"}
	schema.Spec.ForProvider.OwnerRef = &xpv1.Reference{Name: "app"}
	w.create(t, schema)
	extension := &namespacedv1alpha1.Extension{ObjectMeta: named("plpgsql")}
	extension.Spec.ForProvider.DatabaseRef = &xpv1.Reference{Name: "orders"}
	w.create(t, extension)
	database := &namespacedv1alpha1.Database{ObjectMeta: named("orders")}
	database.Spec.ForProvider.OwnerRef = &xpv1.Reference{Name: "app"}
	database.Spec.ForProvider.ConnectionLimit = ptr.To(7)
	w.create(t, database)
	role := &namespacedv1alpha1.Role{ObjectMeta: named("app")}
	role.Spec.ForProvider.Login = ptr.To(true)
	role.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Name: "app"}
	w.create(t, role)
	w.ready(t, role, database, schema)

	t.Run("the connection secret opens the database", func(t *testing.T) {
		c := w.postgres.Config()
		data := w.secret(t, "app")
		c.Username, c.Password, c.Database = string(data["username"]), postgresql.Secret(data["password"]), "orders"
		app, err := postgresql.New(c)
		if err != nil {
			t.Fatal(err)
		}
		defer app.Close()
		if _, err := app.Version(t.Context()); err != nil {
			t.Errorf("connecting as %s: %v", c.Username, err)
		}
	})
	t.Run("what PostgreSQL chose is taken over", func(t *testing.T) {
		if diff := cmp.Diff(ptr.To("UTF8"), database.Spec.ForProvider.Encoding); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("what is changed by hand is put right", func(t *testing.T) {
		err := w.server.UpdateDatabase(t.Context(), postgresql.Database{Name: "orders", ConnectionLimit: ptr.To(3), Comment: ptr.To("mine")})
		if err != nil {
			t.Fatal(err)
		}
		w.Eventually(t, "the connection limit is as declared", func(ctx context.Context) error {
			d, err := w.server.GetDatabase(ctx, "orders")
			if err == nil && *d.ConnectionLimit != 7 {
				err = errors.New("it is not")
			}
			return err
		})
	})
	t.Run("what is deleted is gone", func(t *testing.T) {
		for _, o := range []client.Object{role, database, schema, extension} {
			if err := w.Client.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		w.Eventually(t, "nothing is left", func(ctx context.Context) error {
			_, errDatabase := w.server.GetDatabase(ctx, "orders")
			_, errRole := w.server.GetRole(ctx, "app")
			if !postgresql.IsNotFound(errDatabase) || !postgresql.IsNotFound(errRole) {
				return errors.Join(errors.New("something is there"), errDatabase, errRole)
			}
			return nil
		})
	})
}
