// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	namespacedv1alpha1 "github.com/bowline-dev/bowline/providers/sql/apis/namespaced/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

const manyDatabases, manyRoles = 50, 100

// crowd returns fifty databases, and a hundred roles each of which may use one of them.
func crowd() []resource.Managed {
	var all []resource.Managed
	for i := range manyDatabases {
		d := &namespacedv1alpha1.Database{ObjectMeta: named(fmt.Sprintf("db-%d", i))}
		all = append(all, d)
	}
	for i := range manyRoles {
		role := &namespacedv1alpha1.Role{ObjectMeta: named(fmt.Sprintf("role-%d", i))}
		role.Spec.ForProvider.Login = ptr.To(true)
		role.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Name: role.Name}
		grant := &namespacedv1alpha1.Grant{ObjectMeta: named(fmt.Sprintf("grant-%d", i))}
		grant.Spec.ForProvider.RoleRef = &xpv1.Reference{Name: role.Name}
		grant.Spec.ForProvider.Privileges = []string{"connect", "TEMPORARY"}
		grant.Spec.ForProvider.Target.Kind = ptr.To("Database")
		grant.Spec.ForProvider.Target.DatabaseRef = &xpv1.Reference{Name: fmt.Sprintf("db-%d", i%manyDatabases)}
		all = append(all, role, grant)
	}
	return all
}

// TestCrowd rotates the credentials while two hundred and fifty objects are made: another user takes over, and the first one
// goes. Nobody sees more than one failure, and the server no more connections than it was told.
func TestCrowd(t *testing.T) {
	t.Parallel()
	w := newWorld(t, managed.WithPollInterval(5*time.Second))
	all := crowd()
	first, second := w.rotatable(t, "first"), w.rotatable(t, "second")
	if err := w.Client.Update(t.Context(), w.login("server", first)); err != nil {
		t.Fatal(err)
	}
	most := w.watchConnections(t)
	for i, o := range all {
		w.create(t, o)
		if i == len(all)/2 {
			if err := w.Client.Update(t.Context(), w.login("server", second)); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Settled(t, all...)
	if n := most(); n == 0 || n > 10 {
		t.Errorf("the server had %d connections at a time, want 1 to 10", n)
	}
	w.checkFailures(t)
	log, err := w.postgres.Log()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{string(second.Password), string(w.secret(t, "role-7")["password"])} {
		if secret == "" || strings.Contains(log, secret) {
			t.Error("a password is in the server's log, or there is none")
		}
	}
}

// rotatable makes a superuser and returns how to connect as it.
func (w *world) rotatable(t *testing.T, name string) postgresql.Config {
	t.Helper()
	c := w.postgres.Config()
	c.Username, c.Password = name, postgresql.Secret("the password of "+name)
	_, err := postgresql.Create(t.Context(), w.server, postgresql.Role{
		Name: name, Login: ptr.To(true), Superuser: ptr.To(true), Password: c.Password,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// watchConnections counts the connections of each user until the returned function asks for the most.
func (w *world) watchConnections(t *testing.T) (most func() int) {
	t.Helper()
	c := w.postgres.Config()
	dsn := fmt.Sprintf("host=%s port=%d user=%s password='%s' dbname=postgres", c.Endpoint, c.Port, c.Username, string(c.Password))
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan int, 1)
	go func() {
		defer conn.Close(context.WithoutCancel(ctx)) // The server goes with the test.
		const count = "SELECT coalesce(max(n), 0) FROM (SELECT count(*) AS n FROM pg_stat_activity WHERE usename IN ('first', 'second') GROUP BY usename) AS each"
		n := 0
		for ctx.Err() == nil {
			var have int
			if conn.QueryRow(ctx, count).Scan(&have) == nil {
				n = max(n, have)
			}
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
			}
		}
		result <- n
	}()
	return func() int {
		cancel()
		return <-result
	}
}

// checkFailures fails if an object had more than one failure that is more than waiting for what it refers to.
func (w *world) checkFailures(t *testing.T) {
	t.Helper()
	events := &corev1.EventList{}
	if err := w.Client.List(t.Context(), events, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}
	failures := map[string]int{}
	var texts []error
	for _, e := range events.Items {
		if e.Type == corev1.EventTypeWarning && e.Reason != "CannotResolveResourceReferences" {
			failures[e.InvolvedObject.Kind+e.InvolvedObject.Name] += int(max(e.Count, 1))
			texts = append(texts, fmt.Errorf("%s %s: %s", e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Message))
		}
	}
	for object, n := range failures {
		if n > 1 {
			t.Errorf("%s failed %d times: %v", object, n, errors.Join(texts...))
		}
	}
}
