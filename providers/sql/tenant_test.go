// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

func tenantDatabase(w *world, name string) *v1alpha1.TenantDatabase {
	o := &v1alpha1.TenantDatabase{ObjectMeta: named(name)}
	o.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: w.Namespace, Name: name}
	return o
}

// open connects as a tenant does, to any database.
func (w *world) open(t *testing.T, secret map[string][]byte, database string) error {
	t.Helper()
	c := w.postgres.Config()
	c.Username, c.Password, c.Database = string(secret["username"]), postgresql.Secret(secret["password"]), database
	s, err := postgresql.New(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Version(t.Context())
	return err
}

func TestTenants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := tenantDatabase(w, "tenant-a"), tenantDatabase(w, "tenant-b")
	w.create(t, a)
	w.create(t, b)
	w.Settled(t, a, b)
	t.Run("what is ready is on offer (A43)", func(t *testing.T) {
		if got := a.Status.BindingPhase; got != xpv1.BindingPhaseUnbound {
			t.Errorf("binding phase %q", got)
		}
	})
	t.Run("the connection secret opens the tenant's database and no other (R206)", func(t *testing.T) {
		secret := w.secret(t, a.Name)
		if got := string(secret["database"]); got != a.Name {
			t.Errorf("database %q", got)
		}
		if err := w.open(t, secret, a.Name); err != nil {
			t.Error(err)
		}
		if err := w.open(t, secret, b.Name); !postgresql.IsPermission(err) {
			t.Errorf("opening the database of another tenant: %v", err)
		}
	})
	t.Run("who lets everybody in is corrected (N8, R114)", func(t *testing.T) {
		everybody := postgresql.Grant{
			Role: postgresql.Public, Privileges: []string{"CONNECT"},
			On: postgresql.Target{Kind: postgresql.OnDatabase, Database: a.Name},
		}
		if _, err := postgresql.Create(t.Context(), w.server, everybody); err != nil {
			t.Fatal(err)
		}
		w.Eventually(t, "nobody else may connect", func(ctx context.Context) error {
			if _, err := postgresql.Get(ctx, w.server, everybody); !postgresql.IsNotFound(err) {
				return fmt.Errorf("everybody may: %w", err)
			}
			return nil
		})
	})
	t.Run("what is deleted is gone (R55)", func(t *testing.T) {
		if err := w.Client.Delete(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		w.gone(t, a)
	})
}

// tenantName makes an object's name of that of a test case.
func tenantName(test string) string {
	return strings.NewReplacer(" ", "-", "'", "", "(", "", ")", "").Replace(strings.ToLower(test))
}

// A creation that was cut off, wherever, is completed.
func TestTenantsHalfMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases := map[string]struct {
		undo func(ctx context.Context, name string) error // takes back the end of a creation
	}{
		"no database (N5)": {undo: func(ctx context.Context, name string) error {
			return postgresql.ForceDelete(ctx, w.server, postgresql.Database{Name: name})
		}},
		"no role (P65)": {undo: func(ctx context.Context, name string) error {
			us := w.postgres.Config().Username
			err := postgresql.Update(ctx, w.server, postgresql.Database{Name: name, Owner: &us})
			return errors.Join(err, postgresql.Delete(ctx, w.server, postgresql.Role{Name: name}))
		}},
		"closed to all (N5)": {undo: func(ctx context.Context, name string) error {
			return postgresql.Update(ctx, w.server, postgresql.Database{Name: name, AllowConnections: ptr.To(false)})
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tenantDatabase(w, tenantName(name))
			w.create(t, o)
			w.Settled(t, o)
			secret := w.secret(t, o.Name)
			if err := tc.undo(t.Context(), o.Name); err != nil {
				t.Fatal(err)
			}
			w.Eventually(t, "it opens again", func(context.Context) error { return w.open(t, secret, o.Name) })
		})
	}
}

// What is somebody else's is left alone, and what cannot be made is said.
func TestTenantsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, make := range map[string]func(ctx context.Context, name string) error{
		"somebody's role (N24)": func(ctx context.Context, name string) error {
			_, err := postgresql.Create(ctx, w.server, postgresql.Role{Name: name})
			return err
		},
		"somebody's database (N24)": func(ctx context.Context, name string) error {
			_, err := postgresql.Create(ctx, w.server, postgresql.Database{Name: name})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tenantDatabase(w, tenantName(name))
			if err := make(t.Context(), o.Name); err != nil {
				t.Fatal(err)
			}
			w.create(t, o)
			w.says(t, o, "exists already")
			if err := w.Client.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			w.Eventually(t, "the object is gone", func(ctx context.Context) error {
				if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil || err == nil {
					return errors.New("it is there")
				}
				return nil
			})
			_, noRole := postgresql.Get(t.Context(), w.server, postgresql.Role{Name: o.Name})
			_, noDatabase := postgresql.Get(t.Context(), w.server, postgresql.Database{Name: o.Name})
			if noRole != nil && noDatabase != nil {
				t.Errorf("what was somebody's is gone: %v, %v", noRole, noDatabase)
			}
		})
	}
	t.Run("a version that the server does not have (D27)", func(t *testing.T) {
		t.Parallel()
		o := tenantDatabase(w, "future")
		o.Spec.ForProvider.EngineVersion = ptr.To("99")
		w.create(t, o)
		w.says(t, o, "not 99")
	})
}

// A role that may make roles and no databases gets half of a tenant.
func TestTenantsIncomplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limited := postgresql.Role{Name: "limited", Login: ptr.To(true), CreateRole: ptr.To(true), Password: "limited-password"}
	if _, err := postgresql.Create(t.Context(), w.server, limited); err != nil {
		t.Fatal(err)
	}
	c := w.postgres.Config()
	c.Username, c.Password = limited.Name, limited.Password
	w.create(t, w.login("limited", c))
	config := &v1alpha1.ProviderConfig{ObjectMeta: named(w.Namespace + "-limited")}
	config.Spec.Credentials = w.credentials("limited")
	w.create(t, config)
	half := tenantDatabase(w, "half")
	w.place(t, half)
	half.Spec.ProviderConfigReference.Name = config.Name
	if err := w.Client.Create(t.Context(), half); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Client.Delete(context.Background(), half) })
	w.says(t, half, "permission denied")
	w.Eventually(t, "the role is there", func(ctx context.Context) error {
		_, err := postgresql.Get(ctx, w.server, postgresql.Role{Name: half.Name})
		return err
	})
	w.says(t, half, "permission denied")
	if half.Status.BindingPhase != "" || half.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue {
		t.Errorf("half a tenant: phase %q, %v (A43)", half.Status.BindingPhase, half.GetCondition(xpv1.TypeReady))
	}
}

// says waits until an object is not synced and its message has the words.
func (w *world) says(t *testing.T, o *v1alpha1.TenantDatabase, words string) {
	t.Helper()
	w.Eventually(t, o.Name+" says "+words, func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if c := o.GetCondition(xpv1.TypeSynced); c.Status != corev1.ConditionFalse || !strings.Contains(c.Message, words) {
			return fmt.Errorf("it says %s %q", c.Status, c.Message)
		}
		return nil
	})
}
