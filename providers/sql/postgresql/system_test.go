// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"testing"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

// A connection shows which server it reached, also where the address leads to another one meanwhile, and connections to the former one
// are not used any more.
func TestSystemIdentifier_N55(t *testing.T) {
	t.Parallel()
	a, b := startServer(t).Config(), startServer(t).Config()
	inB, err := openAt(t, b)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, inB, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", quote(b.Username), string(a.Password)))
	b.Password = a.Password
	var target atomic.Int32
	target.Store(int32(a.Port))
	moving := a
	moving.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, fmt.Sprintf("%s:%d", a.Endpoint, target.Load()))
	}
	identifier := func(c postgresql.Config) string {
		conn, err := openAt(t, c)
		if err != nil {
			t.Fatal(err)
		}
		var id string
		if err := conn.QueryRow(t.Context(), "SELECT system_identifier::text FROM pg_control_system()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	s := connectTo(t, moving)
	if id := s.SystemIdentifier(); id != "" {
		t.Errorf("before the first connection: %q", id)
	}
	if _, err := postgresql.Create(t.Context(), s, postgresql.Database{Name: "d"}); err != nil {
		t.Fatal(err)
	}
	inPass, next := s.Pin(), s.Pin()
	_, err = inPass.Version(t.Context())
	if got, want := s.SystemIdentifier(), identifier(a); err != nil || got != want || inPass.SystemIdentifier() != want {
		t.Errorf("identifier %q, in the pass %q, want %q: %v", got, inPass.SystemIdentifier(), want, err)
	}
	target.Store(int32(b.Port))
	_, err = postgresql.Get(t.Context(), s, postgresql.Schema{Database: "d", Name: "public"})
	want(t, err, postgresql.IsNotFound, "not found by a new connection")
	_, err = postgresql.Get(t.Context(), s, postgresql.Database{Name: "d"})
	want(t, err, postgresql.IsNotFound, "not found by the connection that was idle")
	if got, want := s.SystemIdentifier(), identifier(b); got != want {
		t.Errorf("identifier %q, want %q", got, want)
	}
	for what, d := range map[string]postgresql.Schema{
		"which exists in both": {Database: "postgres", Name: "public"}, "which the other lacks": {Database: "d", Name: "public"},
	} {
		_, err := postgresql.Get(t.Context(), inPass, d)
		if want(t, err, postgresql.IsConflict, "a conflict"); inPass.SystemIdentifier() != identifier(a) || !postgresql.IsOutcomeUnknown(err) {
			t.Errorf("a pass that began on the former server asks for a schema %s: %v, of %q", what, err, inPass.SystemIdentifier())
		}
	}
	_, err = postgresql.Get(t.Context(), next, postgresql.Schema{Database: "d", Name: "public"})
	if want(t, err, postgresql.IsNotFound, "not found in the next pass"); next.SystemIdentifier() != identifier(b) {
		t.Errorf("identifier %q in the next pass", next.SystemIdentifier())
	}
}

// A server that does not show its identifier is used like any other.
func TestNoSystemIdentifier_N55(t *testing.T) {
	t.Parallel()
	c := startServer(t).Config()
	conn, err := openAt(t, c)
	if err != nil {
		t.Fatal(err)
	}
	execute(t, conn, "CREATE ROLE plain LOGIN PASSWORD 'plain'")
	c.Username, c.Password = "plain", "plain"
	for _, tc := range []struct {
		name, statement string
		shown           bool
	}{
		{"to a user like any other", "SELECT", true},
		{"without the privilege", "REVOKE EXECUTE ON FUNCTION pg_control_system() FROM public", false},
		{"without the function", "ALTER FUNCTION pg_control_system() RENAME TO no_longer_there", false},
	} {
		execute(t, conn, tc.statement)
		s := connectTo(t, c)
		if _, err := s.Version(t.Context()); err != nil || (s.SystemIdentifier() != "") != tc.shown {
			t.Errorf("%s: %v, identifier %q", tc.name, err, s.SystemIdentifier())
		}
	}
}
