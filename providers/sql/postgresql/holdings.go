// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// holdings are the privileges of a role on the objects that a target matches.
type holdings struct {
	Objects int      // their number
	Owners  []string // of the objects
	Names   []string // of the objects, quoted; empty if the target matches all of a schema
	Missing []string // names without an object
	All     []string // every privilege on such objects, sorted
	Held    []held   // sorted by privilege
}

// held counts the objects on which a role holds a privilege.
type held struct {
	Privilege string
	Count     int // of objects
	Grantable int // of those: with grant option
	Revocable int // of those: granted by the owner (as superusers and owners do) or by us
}

// getHoldings returns IsNotFound if the role does not exist, or none of the objects that the target names.
func getHoldings(ctx context.Context, e executor, g *Grant) (*holdings, error) {
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

// grant returns the holdings in the spelling of asked.
func (h *holdings) grant(asked *Grant) (*Grant, error) {
	want, err := h.canonical(asked.Privileges)
	if err != nil {
		return nil, err
	}
	found := &Grant{Role: asked.Role, On: asked.On, Objects: h.Objects}
	if h.Objects == 0 {
		found.Privileges, found.GrantOption = asked.Privileges, asked.GrantOption
		return found, nil
	}
	if !h.revocable() {
		return nil, asked.notFound()
	}
	have := h.extra(want)
	grantable := true
	for _, p := range want {
		if i := h.index(p); i >= 0 && h.complete(h.Held[i].Count) {
			have = append(have, p)
			grantable = grantable && h.complete(h.Held[i].Grantable)
		}
	}
	if len(want) == 0 || asked.GrantOption == nil || !*asked.GrantOption { // then any grant option is a difference
		grantable = len(h.grantable(have)) > 0
	}
	slices.Sort(have)
	found.Privileges, found.GrantOption = spelledAs(asked.Privileges, have, h.All), &grantable
	return found, nil
}

// complete reports whether n is the number of all objects.
func (h *holdings) complete(n int) bool { return n == h.Objects && len(h.Missing) == 0 }

// revocable reports whether the role holds privileges that we can revoke.
func (h *holdings) revocable() bool { return len(h.extra(nil)) > 0 }

func (h *holdings) index(privilege string) int {
	return slices.IndexFunc(h.Held, func(p held) bool { return p.Privilege == privilege })
}

// missing returns the privileges that are not held on each object, or lack the grant option.
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

// extra returns further privileges that are held on any object and can be revoked.
func (h *holdings) extra(want []string) []string {
	return h.privileges(func(p held) bool { return p.Revocable > 0 && !slices.Contains(want, p.Privilege) })
}

// grantable returns the privileges that are held with grant option on any object.
func (h *holdings) grantable(want []string) []string {
	return h.privileges(func(p held) bool { return p.Grantable > 0 && slices.Contains(want, p.Privilege) })
}

func (h *holdings) privileges(which func(held) bool) []string {
	var names []string
	for _, p := range h.Held {
		if which(p) {
			names = append(names, p.Privilege)
		}
	}
	return names
}

// canonical returns privileges in the server's spelling, sorted. Only those may become part of a statement.
func (h *holdings) canonical(privileges []string) ([]string, error) {
	var words []string
	for _, p := range privileges {
		for _, word := range expand(p, h.All) {
			if !slices.Contains(h.All, word) {
				return nil, &Error{Code: codeBadValue, Message: fmt.Sprintf("the target has no privilege %q", p),
					Hint: "It has ALL, or " + strings.Join(h.All, ", ") + "."}
			}
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return slices.Compact(words), nil
}
