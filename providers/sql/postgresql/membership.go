// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// getMembership returns IsNotFound if g.Role is no direct member of g.On.Role.
func getMembership(ctx context.Context, e executor, g *Grant) (*Grant, error) {
	found := &Grant{Role: g.Role, On: g.On, Objects: 1}
	var members int
	err := e.QueryRow(ctx, `
		SELECT count(*), bool_or(m.admin_option),
			bool_or((to_jsonb(m)->>'inherit_option')::boolean), bool_or((to_jsonb(m)->>'set_option')::boolean)
		FROM pg_auth_members m
		WHERE pg_get_userbyid(m.roleid) = $1 AND pg_get_userbyid(m.member) = $2`, g.On.Role, g.Role).Scan(
		&members, &found.GrantOption, &found.Inherit, &found.Set)
	if err != nil {
		return nil, err
	}
	if members == 0 {
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
		c.err = &Error{Code: codeBadValue, Message: "PUBLIC cannot be a member of a role"}
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
