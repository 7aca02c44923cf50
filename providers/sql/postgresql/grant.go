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

// Public is the name that stands for all roles as the Role of a Grant, now and in future.
const Public = "public"

// everything is the privilege that stands for all there are of a target.
const everything = "ALL"

// Grant is all that one role holds of one target directly, not as a member of others. Role and On identify it.
// https://www.postgresql.org/docs/current/sql-grant.html
type Grant struct {
	// Role is who holds it; Public is everybody.
	Role string `json:"role"`
	// On is what it is about.
	On Target `json:"on"`
	// Privileges, such as SELECT or ALL, in any case and order. The whole truth: others that the role holds are extra.
	// Memberships have none.
	Privileges []string `json:"privileges,omitempty"`
	// GrantOption lets the role pass the privileges on; for a membership it is the admin option. Default: false.
	GrantOption *bool `json:"grantOption,omitempty"`
	// Inherit gives a member the privileges of the role, from version 16 on. Default: what the member inherits otherwise.
	Inherit *bool `json:"inherit,omitempty"`
	// Set lets a member change to the role, from version 16 on. Default: true.
	Set *bool `json:"set,omitempty"`

	// Objects is the number of objects that On means at the moment. Output only.
	Objects int `json:"objects,omitempty"`
}

// GetGrant returns what g.Role holds of g.On, IsNotFound if that is nothing, or if it was not granted by the owner or by us.
//
// Of several objects it returns those of g.Privileges that are held on each, as they are spelled there, and others that are
// held on any: it equals g when nothing is amiss. So where g.On means all objects of a schema that has none, it is g with
// Objects 0, though there is nothing to delete.
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
		if before.Objects > 0 && before.mine() {
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

// DeleteGrant revokes all that g.Role holds of g.On, whatever g.Privileges says. The error is IsNotFound if that is nothing,
// IsConflict if the role passed it on to others.
func (s *Server) DeleteGrant(ctx context.Context, g Grant) error {
	return s.granting(ctx, g, func(ctx context.Context, tx pgx.Tx) error {
		if g.On.Kind == OnRole {
			return deleteMembership(ctx, tx, g)
		}
		h, err := getHoldings(ctx, tx, g)
		if err != nil {
			return err
		}
		if !h.mine() {
			return g.notFound()
		}
		err = s.visit(ctx, tx.Conn(), tx, h.Owners, func() error {
			return run(ctx, tx, g.revoke("", h.extra(nil), h))
		})
		if err != nil {
			return err
		}
		return g.verify(ctx, tx, nil)
	})
}

// granting makes f one operation and one transaction, one at a time in a database: those that change privileges of the same
// object would fail instead of waiting for each other.
func (s *Server) granting(ctx context.Context, g Grant, f func(context.Context, pgx.Tx) error) error {
	const lock = 0x626f776c696e65 // "bowline": any number that nobody else uses
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

// change brings about what g says.
func (s *Server) change(ctx context.Context, tx pgx.Tx, g Grant, h *holdings) error {
	want, err := h.canonical(g.Privileges)
	if err != nil {
		return err
	}
	if len(want) == 0 {
		return &Error{Code: codeBadValue, Message: "a grant names no privilege"}
	}
	if len(h.Missing) > 0 {
		return notFound(g.On.missingCode(), strings.ToLower(string(g.On.Kind)), h.Missing[0])
	}
	var commands []*command
	if missing := h.missing(want, g.GrantOption); len(missing) > 0 {
		c := say("GRANT " + strings.Join(missing, ", ") + " ON").say(g.On.phrase(h)).say("TO").say(g.grantee())
		if g.GrantOption != nil && *g.GrantOption {
			c.say("WITH GRANT OPTION")
		}
		commands = append(commands, c)
	}
	if extra := h.extra(want); len(extra) > 0 {
		commands = append(commands, g.revoke("", extra, h))
	}
	if g.GrantOption != nil && !*g.GrantOption {
		if passable := h.passable(want); len(passable) > 0 {
			commands = append(commands, g.revoke("GRANT OPTION FOR ", passable, h))
		}
	}
	if len(commands) == 0 {
		return nil
	}
	if err := s.visit(ctx, tx.Conn(), tx, h.Owners, func() error { return run(ctx, tx, commands...) }); err != nil {
		return err
	}
	return g.verify(ctx, tx, want)
}

// verify returns an error if the role does not hold just the wanted privileges. GRANT and REVOKE of those who have a part of
// the privileges but may not pass it on do nothing, with no more than a warning.
func (g Grant) verify(ctx context.Context, e executor, want []string) error {
	h, err := getHoldings(ctx, e, g)
	if err != nil {
		return err
	}
	if wrong := append(h.missing(want, nil), h.extra(want)...); len(wrong) > 0 {
		return &Error{Code: codeNoPrivilege, Message: fmt.Sprintf("the user may not grant or revoke %s of %s",
			strings.Join(wrong, ", "), g.On), Hint: "Let a superuser or the owner do it."}
	}
	return nil
}

// revoke takes privileges, which are of the server's own list, away.
func (g Grant) revoke(what string, privileges []string, h *holdings) *command {
	return say("REVOKE " + what + strings.Join(privileges, ", ") + " ON").say(g.On.phrase(h)).say("FROM").say(g.grantee())
}

// grantee is the role as SQL. No role can be named public, so quoting would make it one that does not exist.
func (g Grant) grantee() string {
	if g.Role == Public {
		return "PUBLIC"
	}
	return pgx.Identifier{g.Role}.Sanitize()
}

func (g Grant) exists() error {
	return &Error{Code: codeDuplicateObject, Message: fmt.Sprintf("role %q already holds something of %s", g.Role, g.On)}
}

func (g Grant) notFound() error {
	return &Error{Code: codeNoObject, Message: fmt.Sprintf("role %q was granted nothing of %s", g.Role, g.On)}
}

// spelledAs returns privileges as wanted says them: ALL where they are all of the list, else in the wanted words.
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

// expand returns the server's own words for a privilege.
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
