// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// holdings are what a role holds of the objects that a target means.
type holdings struct {
	Objects int      // how many there are
	Owners  []string // of the objects
	Names   []string // of the objects, quoted; empty where the target means all of a schema
	Missing []string // names that no object has
	All     []string // every privilege that such objects have, sorted
	Held    []held   // sorted by privilege
}

// held counts the objects of which a role holds one privilege.
type held struct {
	Privilege string
	Count     int // of objects
	Grantable int // of those: may be passed on
	Revocable int // of those: granted by the owner, as superusers and owners do, or by us
}

// getHoldings returns IsNotFound if the role does not exist, or none of the objects that the target names.
func getHoldings(ctx context.Context, e executor, g Grant) (*holdings, error) {
	objects, letter := g.On.objects()
	names := g.On.Names
	if names == nil {
		names = []string{}
	}
	h := &holdings{}
	var roleExists, schemaExists bool
	err := e.QueryRow(ctx, `
		WITH objects AS (`+objects+`),
		role AS (SELECT 0::oid AS oid WHERE $3::text = 'public' UNION ALL SELECT oid FROM pg_roles WHERE rolname = $3),
		each AS (
			SELECT o.oid, a.privilege_type, bool_or(a.is_grantable) AS grantable,
				bool_or(a.grantor = o.owner OR pg_get_userbyid(a.grantor) = current_user) AS revocable
			FROM objects o, role r, aclexplode(coalesce(o.acl, acldefault('`+letter+`', o.owner))) a
			WHERE a.grantee = r.oid GROUP BY 1, 2),
		counts AS (
			SELECT privilege_type AS "Privilege", count(*) AS "Count", count(*) FILTER (WHERE grantable) AS "Grantable",
				count(*) FILTER (WHERE revocable) AS "Revocable"
			FROM each GROUP BY 1 ORDER BY 1)
		SELECT EXISTS (SELECT FROM role), EXISTS (SELECT FROM pg_namespace WHERE nspname = $1), (SELECT count(*) FROM objects),
			ARRAY(SELECT DISTINCT pg_get_userbyid(owner)::text FROM objects),
			ARRAY(SELECT name FROM objects WHERE $4 OR $2 <> '{}' ORDER BY 1),
			ARRAY(SELECT n FROM unnest($2) n WHERE NOT EXISTS (SELECT FROM objects WHERE n = ANY(words))),
			ARRAY(SELECT DISTINCT privilege_type FROM aclexplode(acldefault('`+letter+`', 10)) ORDER BY 1),
			(SELECT coalesce(jsonb_agg(counts), '[]') FROM counts)`,
		g.On.subject(), names, g.Role, g.On.Kind == OnDatabase || g.On.Kind == OnSchema).Scan(
		&roleExists, &schemaExists, &h.Objects, &h.Owners, &h.Names, &h.Missing, &h.All, &h.Held)
	switch {
	case err != nil:
		return nil, err
	case !roleExists:
		return nil, notFound(codeNoObject, "role", g.Role)
	case g.On.Kind == OnDatabase && h.Objects == 0:
		return nil, notFound(codeNoDatabase, "database", g.On.Database)
	case g.On.Kind != OnDatabase && !schemaExists:
		return nil, notFound(codeNoSchema, "schema", g.On.Schema)
	case len(names) > 0 && h.Objects == 0:
		return nil, notFound(g.On.missingCode(), strings.ToLower(string(g.On.Kind)), h.Missing[0])
	}
	return h, nil
}

// grant returns the holdings in the words of what was asked for.
func (h *holdings) grant(asked Grant) (*Grant, error) {
	want, err := h.canonical(asked.Privileges)
	if err != nil {
		return nil, err
	}
	found := &Grant{Role: asked.Role, On: asked.On, Objects: h.Objects}
	if h.Objects == 0 {
		found.Privileges, found.GrantOption = asked.Privileges, asked.GrantOption
		return found, nil
	}
	if !h.mine() {
		return nil, asked.notFound()
	}
	have := h.extra(want)
	passable := true
	for _, p := range want {
		if i := h.index(p); i >= 0 && h.complete(h.Held[i].Count) {
			have = append(have, p)
			passable = passable && h.complete(h.Held[i].Grantable)
		}
	}
	if len(want) == 0 || asked.GrantOption == nil || !*asked.GrantOption { // Then any that can be passed on is one too many.
		passable = len(h.passable(have)) > 0
	}
	slices.Sort(have)
	found.Privileges, found.GrantOption = spelledAs(asked.Privileges, have, h.All), &passable
	return found, nil
}

// complete reports whether a number of objects is all that are meant.
func (h *holdings) complete(n int) bool { return n == h.Objects && len(h.Missing) == 0 }

// mine reports whether anything is held that we could revoke.
func (h *holdings) mine() bool {
	return slices.ContainsFunc(h.Held, func(p held) bool { return p.Revocable > 0 })
}

func (h *holdings) index(privilege string) int {
	return slices.IndexFunc(h.Held, func(p held) bool { return p.Privilege == privilege })
}

// missing returns those of the privileges that are not held on each object, or that cannot be passed on but should be.
func (h *holdings) missing(want []string, grantable *bool) []string {
	var missing []string
	if h.Objects == 0 {
		return nil
	}
	for _, p := range want {
		i := h.index(p)
		if i < 0 || h.Held[i].Count < h.Objects || grantable != nil && *grantable && h.Held[i].Grantable < h.Objects {
			missing = append(missing, p)
		}
	}
	return missing
}

// extra returns what is held on any object beyond the privileges, and can be revoked.
func (h *holdings) extra(want []string) []string {
	var extra []string
	for _, p := range h.Held {
		if p.Revocable > 0 && !slices.Contains(want, p.Privilege) {
			extra = append(extra, p.Privilege)
		}
	}
	return extra
}

// passable returns those of the privileges that can be passed on, on any object.
func (h *holdings) passable(want []string) []string {
	var passable []string
	for _, p := range h.Held {
		if p.Grantable > 0 && slices.Contains(want, p.Privilege) {
			passable = append(passable, p.Privilege)
		}
	}
	return passable
}

// canonical returns privileges in the server's own words, sorted. Only those words may become part of a statement.
func (h *holdings) canonical(privileges []string) ([]string, error) {
	var words []string
	for _, p := range privileges {
		for _, word := range expand(p, h.All) {
			if !slices.Contains(h.All, word) {
				return nil, &Error{Code: codeBadValue, Message: fmt.Sprintf("privilege %q is none that the target has", p),
					Hint: "It has ALL, or " + strings.Join(h.All, ", ") + "."}
			}
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return slices.Compact(words), nil
}
