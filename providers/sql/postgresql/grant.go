// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/semaphore"
)

// Public is the Role of a Grant to all roles, present and future.
const Public = "public"

// mostTries bounds how often a change of privileges is tried. Another one was done each time.
const mostTries = 20

// everything is the name for all privileges on a target.
const everything = "ALL"

// Grant is a membership, or the privileges that a role holds directly on a target.
//
// Get returns IsNotFound if there are no privileges that the owner or we granted. For several objects it returns those of Privileges that are
// held on each, in the same spelling, and others that are held on any, so that the result equals the input if nothing differs. PostgreSQL
// stores no comment, and so no ownership label, with privileges. Create refuses privileges that exist. What an object has not created it
// changes and deletes only if a user gave it the external name, and never through a configuration that is shared with other namespaces.
// If On matches all objects of an empty schema the result is the input with Objects 0, although there is nothing to delete.
// https://www.postgresql.org/docs/current/sql-grant.html
type Grant struct {
	Role        string   // identity: receives the grant; Public means every role
	On          Target   // identity
	Privileges  []string // such as SELECT or ALL, in any case and order; all others are revoked; memberships have none
	GrantOption *bool    // lets the role grant the privileges to others; for a membership it is the admin option; default: false
	Inherit     *bool    // gives the member the privileges of the role, since version 16; default: the member's attribute inherit
	Set         *bool    // lets the member use SET ROLE, since version 16; default: true

	// Within are input only: privileges that not everyone has are given only on objects whose owner, or the schema itself, has these labels.
	// Get, Create and Update return an *OwnerError for others.
	Within map[string]string

	Objects   int    // output only: the number of objects that On matches
	TargetOID uint32 // output only: the object identifier of the role or database of On
	RoleOID   uint32 // output only: that of Role, 0 for Public
	Owned     bool   // output only: Role owns all objects that On matches, and so has all privileges on them
}

func (g *Grant) verbs() verbs[Grant]     { return g }
func (g *Grant) named() (string, string) { return "grant", g.Role }

// check refuses the privileges of the server's and the provider's own role, and those on system schemas.
func (g *Grant) check(s *Server) error {
	switch {
	case g.Role == s.config.Username, g.Role == "postgres":
		return reserved("grant to role", g.Role)
	case s.isSystem("schema", g.On.Schema):
		return reserved("grant on schema", g.On.Schema)
	}
	return checkName(g.Role)
}

// where returns the database to connect to. Privileges on databases and roles are changed in one database.
func (g *Grant) where(s *Server) string {
	if g.On.Kind == OnRole || g.On.Kind == OnDatabase || g.On.validate() != nil {
		return s.config.Database
	}
	return g.On.Database
}

func (g *Grant) read(ctx context.Context, e executor) (*Grant, error) {
	if err := g.On.validate(); err != nil {
		return nil, err
	}
	if g.On.Kind == OnRole {
		return getMembership(ctx, e, g)
	}
	h, err := getHoldings(ctx, e, g)
	if err != nil {
		return nil, err
	}
	if err := g.confined(ctx, e, h); err != nil {
		return nil, err
	}
	return h.grant(g)
}

func (g *Grant) create(ctx context.Context, s *Server) (created *Grant, err error) {
	err = s.granting(ctx, g, func(ctx context.Context, tx pgx.Tx) error {
		before, err := g.read(ctx, tx)
		switch {
		case err == nil && before.Objects > 0:
			return &Error{Code: codeDuplicateObject, Message: fmt.Sprintf("role %q already has privileges on %s", g.Role, g.On)}
		case err != nil && !IsNotFound(err):
			return err
		case g.On.Kind == OnRole:
			err = run(ctx, tx, grantMembership(tx.Conn(), g, &Grant{}))
		default:
			err = g.change(ctx, s, tx)
		}
		if err != nil {
			return err
		}
		created, err = g.read(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// update grants what is missing and revokes what is extra.
func (g *Grant) update(ctx context.Context, s *Server) error {
	return s.granting(ctx, g, func(ctx context.Context, tx pgx.Tx) error {
		if g.On.Kind == OnRole {
			return updateMembership(ctx, tx, g)
		}
		return g.change(ctx, s, tx)
	})
}

// remove revokes all privileges.
func (g *Grant) remove(ctx context.Context, s *Server, _ bool) error {
	return s.granting(ctx, g, func(ctx context.Context, tx pgx.Tx) error {
		if g.On.Kind == OnRole {
			return deleteMembership(ctx, tx, g)
		}
		h, err := getHoldings(ctx, tx, g)
		if err != nil {
			return err
		}
		if !h.revocable() {
			return g.notFound()
		}
		err = s.asMember(ctx, tx.Conn(), tx, h.Owners, func() error {
			return run(ctx, tx, g.revoke("", h.extra(nil), h))
		})
		if err != nil {
			return err
		}
		return g.verify(ctx, tx, nil)
	})
}

// granting runs f in a transaction, one at a time for each database, and again if another client changed the privileges of the same object
// meanwhile. An advisory lock would spare that, but every role that may connect could hold it.
func (s *Server) granting(ctx context.Context, g *Grant, f func(context.Context, pgx.Tx) error) error {
	if err := g.On.validate(); err != nil {
		return err
	}
	added, _ := s.grants.LoadOrStore(g.where(s), semaphore.NewWeighted(1))
	one := added.(*semaphore.Weighted)
	if err := one.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("waiting for other changes of privileges in database %q: %w", g.where(s), err)
	}
	defer one.Release(1)
	for tries := 1; ; tries++ {
		if err := s.within(ctx, g.where(s), f); !has(err, codeSerialization) || tries == mostTries {
			return err
		}
	}
}

// change grants what is missing and revokes what is extra.
func (g *Grant) change(ctx context.Context, s *Server, tx pgx.Tx) error {
	h, err := getHoldings(ctx, tx, g)
	if err != nil {
		return err
	}
	want, err := h.canonical(g.Privileges)
	if err != nil {
		return err
	}
	if len(want) == 0 {
		return &Error{Code: CodeBadValue, Message: "a grant has no privileges"}
	}
	if len(h.Missing) > 0 {
		return notFound(g.On.missingCode(), strings.ToLower(string(g.On.Kind)), h.Missing[0])
	}
	var commands []*command
	if missing := h.missing(want, g.GrantOption); len(missing) > 0 {
		c := statement("GRANT " + strings.Join(missing, ", ") + " ON").sql(g.On.phrase(h)).sql("TO").sql(g.grantee())
		if g.GrantOption != nil && *g.GrantOption {
			c.sql("WITH GRANT OPTION")
		}
		commands = append(commands, c)
	}
	if extra := h.extra(want); len(extra) > 0 {
		commands = append(commands, g.revoke("", extra, h))
	}
	if g.GrantOption != nil && !*g.GrantOption {
		if grantable := h.grantable(want); len(grantable) > 0 {
			commands = append(commands, g.revoke("GRANT OPTION FOR ", grantable, h))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	if err := s.asMember(ctx, tx.Conn(), tx, h.Owners, func() error { return run(ctx, tx, commands...) }); err != nil {
		return err
	}
	return g.verify(ctx, tx, want)
}

// verify returns an error if the role does not hold exactly the desired privileges. GRANT and REVOKE without the grant option
// change nothing and only warn.
func (g *Grant) verify(ctx context.Context, e executor, want []string) error {
	h, err := getHoldings(ctx, e, g)
	if err != nil {
		return err
	}
	if wrong := append(h.missing(want, nil), h.extra(want)...); len(wrong) > 0 {
		return &Error{Code: codeNoPrivilege, Message: fmt.Sprintf("the user may not grant or revoke %s of %s",
			strings.Join(wrong, ", "), g.On), Hint: "A superuser or the owner can."}
	}
	return g.confined(ctx, e, h) // of objects that were created meanwhile, too
}

// revoke returns the command that revokes privileges, given in the server's spelling.
func (g *Grant) revoke(what string, privileges []string, h *holdings) *command {
	return statement("REVOKE " + what + strings.Join(privileges, ", ") + " ON").sql(g.On.phrase(h)).sql("FROM").sql(g.grantee())
}

// grantee is the role in SQL. PUBLIC is a keyword and must not be quoted.
func (g *Grant) grantee() string {
	if g.Role == Public {
		return "PUBLIC"
	}
	return pgx.Identifier{g.Role}.Sanitize()
}

func (g *Grant) notFound() error {
	return &Error{Code: codeNoObject, ungranted: true, Message: fmt.Sprintf("role %q has no privileges on %s", g.Role, g.On)}
}

// spelledAs returns privileges in the spelling of wanted, such as ALL for the whole list.
func spelledAs(wanted []string, held, all []string) []string {
	var spelled, covered []string
	for _, w := range wanted {
		means := expand(w, all)
		if !slices.ContainsFunc(means, func(m string) bool { return !slices.Contains(held, m) }) {
			spelled = append(spelled, w)
			covered = append(covered, means...)
		}
	}
	for _, h := range held {
		if !slices.Contains(covered, h) {
			spelled = append(spelled, h)
		}
	}
	return spelled
}

func expand(privilege string, all []string) []string {
	switch word := strings.ToUpper(privilege); word {
	case everything, "ALL PRIVILEGES":
		return all
	case "TEMP":
		return []string{"TEMPORARY"}
	default:
		return []string{word}
	}
}

// getMembership returns IsNotFound if g.Role is no direct member of g.On.Role.
func getMembership(ctx context.Context, e executor, g *Grant) (*Grant, error) {
	found := &Grant{Role: g.Role, On: g.On, Objects: 1}
	var members int
	var missing []string
	err := e.QueryRow(ctx, `
		SELECT ARRAY(SELECT n FROM unnest(ARRAY[$1::text, $2]) n WHERE n <> $3 AND NOT EXISTS (SELECT FROM pg_roles WHERE rolname = n)),
			count(*), coalesce(max(m.roleid), 0), coalesce(max(m.member), 0), bool_or(m.admin_option),
			bool_or((to_jsonb(m)->>'inherit_option')::boolean), bool_or((to_jsonb(m)->>'set_option')::boolean)
		FROM pg_auth_members m
		WHERE pg_get_userbyid(m.roleid) = $1 AND pg_get_userbyid(m.member) = $2`, g.On.Role, g.Role, Public).Scan(
		&missing, &members, &found.TargetOID, &found.RoleOID, &found.GrantOption, &found.Inherit, &found.Set)
	if err != nil {
		return nil, err
	}
	switch {
	case len(missing) > 0:
		return nil, notFound(codeNoObject, "role", missing[0])
	case members == 0:
		return nil, g.notFound()
	}
	return found, nil
}

func updateMembership(ctx context.Context, tx pgx.Tx, g *Grant) error {
	have, err := getMembership(ctx, tx, g)
	if err != nil {
		return err
	}
	if !differs(have.GrantOption, g.GrantOption) && !differs(have.Inherit, g.Inherit) && !differs(have.Set, g.Set) {
		return nil
	}
	commands := []*command{grantMembership(tx.Conn(), g, have)}
	if g.GrantOption != nil && !*g.GrantOption { // Before version 16, GRANT can only add the option.
		commands = append(commands, statement("REVOKE ADMIN OPTION FOR").name(g.On.Role).sql("FROM").name(g.Role))
	}
	return run(ctx, tx, commands...)
}

func deleteMembership(ctx context.Context, tx pgx.Tx, g *Grant) error {
	if _, err := getMembership(ctx, tx, g); err != nil {
		return err
	}
	if err := run(ctx, tx, statement("REVOKE").name(g.On.Role).sql("FROM").name(g.Role)); err != nil {
		return err
	}
	if _, err := getMembership(ctx, tx, g); !IsNotFound(err) { // since version 16 there is one membership per grantor
		if err != nil {
			return err
		}
		return &Error{Code: codeDependentPrivs, Message: fmt.Sprintf("role %q is a member of %s through another grantor",
			g.Role, g.On), Hint: "The grantor can revoke it."}
	}
	return nil
}

// grantMembership makes g.Role a member with the options that differ.
func grantMembership(conn *pgx.Conn, g *Grant, have *Grant) *command {
	c := statement("GRANT").name(g.On.Role).sql("TO").name(g.Role)
	if g.Role == Public {
		c.err = &Error{Code: CodeBadValue, Message: "PUBLIC cannot be a member of a role"}
	}
	if olderThan16(conn) {
		if g.Inherit != nil || g.Set != nil {
			c.err = &Error{Code: codeNotSupported, Message: "inherit and set of a membership need PostgreSQL 16"}
		}
		if g.GrantOption != nil && *g.GrantOption {
			c.sql("WITH ADMIN OPTION")
		}
		return c
	}
	with := "WITH"
	for _, o := range []struct {
		word       string
		have, want *bool
	}{{"ADMIN", have.GrantOption, g.GrantOption}, {"INHERIT", have.Inherit, g.Inherit}, {"SET", have.Set, g.Set}} {
		if differs(o.have, o.want) {
			c.sql(with + " " + o.word).boolean(*o.want)
			with = ","
		}
	}
	return c
}
