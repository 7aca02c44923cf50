// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

func TestRefusesPassword(t *testing.T) {
	t.Parallel()
	super := connect(t)
	var logins atomic.Int32
	counted := func(c *postgresql.Config) {
		c.IdleTimeout = time.Hour
		c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			logins.Add(1)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
	}
	_, admin := administrator(t, super)
	limited := connect(t, counted, func(c *postgresql.Config) { c.Username, c.Password = admin, "admin" })
	compares := connect(t, counted)
	conn := superuser(t, "postgres")
	r := newRole(t, super, postgresql.Role{Login: ptr(true), Password: "right"})
	alter := func(what string) {
		execute(t, conn, "ALTER ROLE "+quote(r.Name)+" "+what, "SELECT pg_stat_force_next_flush()", "SELECT 1")
	}
	check := func(s *postgresql.Server, what string, wanted bool) {
		t.Helper()
		have, err := postgresql.Get(t.Context(), s, postgresql.Role{Name: r.Name})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.RefusesPassword(t.Context(), have, "right"); got != wanted || err != nil {
			t.Errorf("%s: refused %t, want %t, %v", what, got, wanted, err)
		}
	}
	key := strings.Repeat("A", 43) + "="
	foreign := func(iterations string) string {
		return "PASSWORD 'SCRAM-SHA-256$" + iterations + ":c2FsdHNhbHRzYWx0c2E=$" + key + ":" + key + "'"
	}
	for what, refused := range map[string]bool{
		"PASSWORD 'wrong'": true, "PASSWORD NULL": true, "PASSWORD 'right'": false, "NOLOGIN": false, "CONNECTION LIMIT 0": false,
		"VALID UNTIL '2001-01-01'": false, foreign("50000"): true,
	} {
		alter("LOGIN CONNECTION LIMIT -1 VALID UNTIL 'infinity' PASSWORD 'right'")
		check(limited, "before "+what, false)
		alter(what)
		check(compares, what, refused)
		check(limited, what, refused)
	}
	alter("LOGIN CONNECTION LIMIT 1 VALID UNTIL 'infinity' PASSWORD 'right'")
	check(limited, "connection limit 1", false)
	logins.Store(0)
	for range 5 {
		check(compares, "connection limit 1", false)
	}
	if n := logins.Load(); n != 0 {
		t.Errorf("%d logins to compare verifiers", n)
	}
	alter(foreign("200001"))
	check(compares, "a verifier that costs too much", true)
	execute(t, conn, "SET password_encryption = md5")
	alter("PASSWORD 'right'")
	check(compares, "MD5", true)
}

// Logins use one of the connections of the role, and must be rare.
func TestAcceptedPasswordIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	server := startServer(t)
	var logins atomic.Int32
	super := connectTo(t, server.Config())
	create(t, super, postgresql.Role{Name: "admin", Login: ptr(true), CreateRole: ptr(true), Password: "admin"})
	config := server.Config()
	config.Username, config.Password, config.IdleTimeout = "admin", "admin", time.Hour
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		logins.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	limited := connectTo(t, config)
	role := create(t, limited, postgresql.Role{Name: "limited", Login: ptr(true), ConnectionLimit: ptr(1), Password: "right"})
	refuses := func() bool {
		t.Helper()
		refuses, err := limited.RefusesPassword(t.Context(), role, "right")
		if err != nil {
			t.Fatal(err)
		}
		return refuses
	}
	conn, err := openAt(t, server.Config())
	if err != nil {
		t.Fatal(err)
	}
	alter := func(password, login string) {
		execute(t, conn, "ALTER ROLE limited "+login+" PASSWORD '"+password+"'", "SELECT pg_stat_force_next_flush()", "SELECT 1")
	}
	check := func(login string) {
		t.Helper()
		alter("right", login)
		eventually(t, "the acceptance is known", func() bool {
			before := logins.Load()
			return !refuses() && logins.Load() == before
		})
		before := logins.Load()
		for range 5 {
			if refuses() || logins.Load() != before {
				t.Fatalf("%d more logins", logins.Load()-before)
			}
		}
		alter("wrong", login)
		eventually(t, "the change is seen", refuses)
	}
	check("LOGIN")
	check("NOLOGIN")
	forbid := &postgresql.Grant{Role: postgresql.Public, On: postgresql.Target{Kind: postgresql.OnDatabase, Database: "postgres"}}
	mine := *forbid
	mine.Role, mine.Privileges = "admin", []string{"CONNECT"}
	create(t, super, mine)
	if err := postgresql.Delete(t.Context(), super, *forbid); err != nil {
		t.Fatal(err)
	}
	check("LOGIN")
}
