// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Public is the Role of a Grant to all roles, present and future.
const Public = "public"

// everything is the name for all privileges on a target.
const everything = "ALL"

// Grant is a membership, or the privileges that a role holds directly on a target. Role and On identify it.
// https://www.postgresql.org/docs/current/sql-grant.html
type Grant struct {
	// Role that receives the grant; Public means every role.
	Role string `json:"role"`
	// On is the target.
	On Target `json:"on"`
	// Privileges, such as SELECT or ALL, in any case and order. All others are revoked. Memberships have none.
	Privileges []string `json:"privileges,omitempty"`
	// GrantOption lets the role grant the privileges to others; for a membership it is the admin option. Default: false.
	GrantOption *bool `json:"grantOption,omitempty"`
	// Inherit gives the member the privileges of the role, since version 16. Default: the member's attribute inherit.
	Inherit *bool `json:"inherit,omitempty"`
	// Set lets the member use SET ROLE, since version 16. Default: true.
	Set *bool `json:"set,omitempty"`

	// Objects is the number of objects that On matches. Output only.
	Objects int `json:"objects,omitempty"`
}

// GetGrant returns the privileges of g.Role on g.On, IsNotFound if there are none that the owner or we granted.
//
// For several objects it returns those of g.Privileges that are held on each, in the same spelling, and others that are held on
// any, so that it equals g if nothing differs. If g.On matches all objects of an empty schema it is g with Objects 0, although
// there is nothing to delete.
func (s *Server) GetGrant(ctx context.Context, g Grant) (found *Grant, err error) {
	if err := g.On.validate(); err != nil {
		return nil, err
	}
	err = s.on(ctx, g.On.where(s), func(ctx context.Context, c *pgx.Conn) error {
		if g.On.Kind == OnRole {
			found, err = getMembership(ctx, c, g)
			return err
		}
		h, err := getHoldings(ctx, c, g)
		if err != nil {
			return err
		}
		found, err = h.grant(g)
		return err
	})
	return found, err
}

// CreateGrant grants, IsExists if GetGrant finds something.
func (s *Server) CreateGrant(ctx context.Context, g Grant) (created *Grant, err error) {
	err = s.granting(ctx, g, func(ctx context.Context, tx pgx.Tx) error {
		if g.On.Kind == OnRole {
			created, err = createMembership(ctx, tx, g)
			return err
		}
		before, err := getHoldings(ctx, tx, g)
		if err != nil {
			return err
		}
		if before.Objects > 0 && before.revocable() {
			return g.exists()
		}
		if err := s.change(ctx, tx, g, before); err != nil {
			return err
		}
		after, err := getHoldings(ctx, tx, g)
		if err != nil {
			return err
		}
		created, err = after.grant(g)
		return err
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// UpdateGrant grants what is missing and revokes what is extra.
func (s *Server) UpdateGrant(ctx context.Context, g Grant) error {
	return s.granting(ctx, g, func(ctx context.Context, tx pgx.Tx) error {
		if g.On.Kind == OnRole {
			return updateMembership(ctx, tx, g)
		}
		h, err := getHoldings(ctx, tx, g)
		if err != nil {
			return err
		}
		return s.change(ctx, tx, g, h)
	})
}

// DeleteGrant revokes all privileges of g.Role on g.On. The error is IsNotFound if there are none, IsConflict if the role granted
// them to others.
func (s *Server) DeleteGrant(ctx context.Context, g Grant) error {
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

// granting runs f in a transaction under a lock of the database: concurrent changes to the privileges of an object would fail.
func (s *Server) granting(ctx context.Context, g Grant, f func(context.Context, pgx.Tx) error) error {
	const lock = 0x626f776c696e65 // "bowline"
	if err := g.On.validate(); err != nil {
		return err
	}
	return s.within(ctx, g.On.where(s), func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::bigint)", lock); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// change grants what is missing and revokes what is extra.
func (s *Server) change(ctx context.Context, tx pgx.Tx, g Grant, h *holdings) error {
	want, err := h.canonical(g.Privileges)
	if err != nil {
		return err
	}
	if len(want) == 0 {
		return &Error{Code: codeBadValue, Message: "a grant has no privileges"}
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
func (g Grant) verify(ctx context.Context, e executor, want []string) error {
	h, err := getHoldings(ctx, e, g)
	if err != nil {
		return err
	}
	if wrong := append(h.missing(want, nil), h.extra(want)...); len(wrong) > 0 {
		return &Error{Code: codeNoPrivilege, Message: fmt.Sprintf("the user may not grant or revoke %s of %s",
			strings.Join(wrong, ", "), g.On), Hint: "A superuser or the owner can."}
	}
	return nil
}

// revoke returns the command that revokes privileges, given in the server's spelling.
func (g Grant) revoke(what string, privileges []string, h *holdings) *command {
	return statement("REVOKE " + what + strings.Join(privileges, ", ") + " ON").sql(g.On.phrase(h)).sql("FROM").sql(g.grantee())
}

// grantee is the role in SQL. PUBLIC is a keyword and must not be quoted.
func (g Grant) grantee() string {
	if g.Role == Public {
		return "PUBLIC"
	}
	return pgx.Identifier{g.Role}.Sanitize()
}

func (g Grant) exists() error {
	return &Error{Code: codeDuplicateObject, Message: fmt.Sprintf("role %q already has privileges on %s", g.Role, g.On)}
}

func (g Grant) notFound() error {
	return &Error{Code: codeNoObject, Message: fmt.Sprintf("role %q has no privileges on %s", g.Role, g.On)}
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

// expand returns a privilege in the server's spelling.
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
