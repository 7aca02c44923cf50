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

	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func TestValidProvider(t *testing.T) {
	t.Parallel()
	if err := sql.Provider().Validate(); err != nil {
		t.Error(err)
	}
}

// TestTeam makes all that a team needs, as examples/sql has it, in the wrong order, changes it and takes it away.
func TestTeam(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	team := w.example(t, "team.yaml")
	for _, o := range slices.Backward(team) {
		w.create(t, o)
	}
	w.Settled(t, team...)
	t.Run("the connection secret opens the database", func(t *testing.T) {
		c, data := w.postgres.Config(), w.secret(t, "orders-app")
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
	t.Run("references lead to what is meant", func(t *testing.T) {
		d, err := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		on := postgresql.Target{Kind: postgresql.OnSchema, Database: "orders", Schema: "sales"}
		g, err := postgresql.Get(t.Context(), w.server, postgresql.Grant{Role: "orders-report", On: on})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"orders-app", "USAGE"}, append([]string{*d.Owner}, g.Privileges...)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("what is deleted is gone", func(t *testing.T) {
		for _, o := range team {
			if err := w.Client.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		w.Eventually(t, "nothing is left", func(ctx context.Context) error {
			_, errDatabase := postgresql.Get(ctx, w.server, postgresql.Database{Name: "orders"})
			_, errRole := postgresql.Get(ctx, w.server, postgresql.Role{Name: "orders-app"})
			if !postgresql.IsNotFound(errDatabase) || !postgresql.IsNotFound(errRole) {
				return errors.Join(errors.New("something is there"), errDatabase, errRole)
			}
			return nil
		})
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
		mg, ok := o.(resource.Managed)
		if !ok {
			t.Fatalf("%T is no managed resource", o)
		}
		all = append(all, mg)
	}
	return all
}
