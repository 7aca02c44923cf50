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

// TargetKind is the kind of a Target.
type TargetKind string

// Kinds of targets.
const (
	OnRole     TargetKind = "Role" // membership in a role
	OnDatabase TargetKind = "Database"
	OnSchema   TargetKind = "Schema"
	OnTable    TargetKind = "Table"    // tables, views, materialized views and foreign tables of a schema
	OnSequence TargetKind = "Sequence" // sequences of a schema
	OnRoutine  TargetKind = "Routine"  // functions, aggregates and procedures of a schema
)

// Target is the role, or the objects, of a Grant.
type Target struct {
	Kind     TargetKind // decides which other fields are used
	Role     string     // to become a member of; required for OnRole only
	Database string     // of the objects; required for all kinds but OnRole
	Schema   string     // in the database, for OnSchema, OnTable, OnSequence and OnRoutine
	// Names of objects in the schema, for OnTable, OnSequence and OnRoutine. Default: all; objects that are created later are a
	// difference. The name of a routine alone means all routines of that name; "add(integer, integer)" is one.
	Names []string
}

// String describes the target in messages.
func (t Target) String() string {
	switch {
	case t.Kind == OnRole:
		return fmt.Sprintf("role %q", t.Role)
	case t.Kind == OnDatabase:
		return fmt.Sprintf("database %q", t.Database)
	case t.Kind == OnSchema:
		return fmt.Sprintf("schema %q of database %q", t.Schema, t.Database)
	case len(t.Names) == 0:
		return fmt.Sprintf("all %ss in schema %q of database %q", strings.ToLower(string(t.Kind)), t.Schema, t.Database)
	default:
		return fmt.Sprintf("%s %q in schema %q of database %q", strings.ToLower(string(t.Kind)), t.Names, t.Schema, t.Database)
	}
}

// validate fails for missing fields, and for those that the kind does not use.
func (t Target) validate() error {
	inSchema := t.Kind == OnTable || t.Kind == OnSequence || t.Kind == OnRoutine
	known := inSchema || t.Kind == OnRole || t.Kind == OnDatabase || t.Kind == OnSchema
	if !known {
		return &Error{Code: CodeBadValue, Message: fmt.Sprintf("target kind %q is unknown", t.Kind),
			Hint: "It is one of Role, Database, Schema, Table, Sequence and Routine."}
	}
	for _, field := range []struct {
		name                     string
		given, allowed, required bool
	}{
		{"role", t.Role != "", t.Kind == OnRole, true}, {"database", t.Database != "", t.Kind != OnRole, true},
		{"schema", t.Schema != "", inSchema || t.Kind == OnSchema, true}, {"names", len(t.Names) > 0, inSchema, false},
	} {
		if field.given && !field.allowed {
			return &Error{Code: CodeBadValue, Message: fmt.Sprintf("target.%s must not be set for kind %s", field.name, t.Kind)}
		}
		if field.allowed && field.required && !field.given {
			return &Error{Code: CodeBadValue, Message: fmt.Sprintf("target.%s is required for kind %s", field.name, t.Kind)}
		}
	}
	return nil
}

// subject is the name of the database or schema.
func (t Target) subject() string {
	if t.Kind == OnDatabase {
		return t.Database
	}
	return t.Schema
}

// phrase is the target in GRANT. The names of objects come from the server, quoted.
func (t Target) phrase(h *holdings) string {
	kind := strings.ToUpper(string(t.Kind))
	if len(t.Names) > 0 || t.Kind == OnDatabase || t.Kind == OnSchema {
		return kind + " " + strings.Join(h.Names, ", ")
	}
	return "ALL " + kind + "S IN SCHEMA " + pgx.Identifier{t.Schema}.Sanitize()
}

func (t Target) missingCode() string {
	switch t.Kind {
	case OnDatabase:
		return codeNoDatabase
	case OnSchema:
		return codeNoSchema
	case OnRoutine:
		return codeNoFunction
	case OnTable, OnSequence:
		return codeNoTable
	default:
		return codeNoObject
	}
}

// objects returns the query for oid, owner, privileges, quoted name and accepted spellings (words) of the objects, and the letter
// of the kind for acldefault. Its parameters are the subject and Names.
func (t Target) objects() (query, letter string) {
	const relations = `SELECT c.oid, c.relowner AS owner, c.relacl AS acl, format('%I.%I', n.nspname, c.relname) AS name,
		ARRAY[c.relname::text] AS words FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = $1 AND ($2::text[] = '{}' OR c.relname::text = ANY($2)) AND c.relkind = ANY(`
	switch t.Kind {
	case OnDatabase:
		return `SELECT oid, datdba AS owner, datacl AS acl, quote_ident(datname) AS name, ARRAY[datname::text] AS words
			FROM pg_database WHERE datname = $1 AND $2::text[] IS NOT NULL`, "d"
	case OnSchema:
		return `SELECT oid, nspowner AS owner, nspacl AS acl, quote_ident(nspname) AS name, ARRAY[nspname::text] AS words
			FROM pg_namespace WHERE nspname = $1 AND $2::text[] IS NOT NULL`, "n"
	case OnTable:
		return relations + `'{r,p,v,m,f}')`, "r"
	case OnSequence:
		return relations + `'{S}')`, "s"
	default:
		return `SELECT * FROM (SELECT p.oid, p.proowner AS owner, p.proacl AS acl, p.oid::regprocedure::text AS name,
			ARRAY[p.proname::text, format('%s(%s)', p.proname, pg_get_function_identity_arguments(p.oid))] AS words
			FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1) every
			WHERE $2::text[] = '{}' OR words && $2`, "f"
	}
}

// holdings are the privileges of a role on the objects that a target matches.
type holdings struct {
	Objects int      // their number
	OID     uint32   // of the database
	RoleOID uint32   // 0 for Public
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
			coalesce((SELECT oid FROM pg_database WHERE datname = $5), 0), coalesce((SELECT max(oid) FROM role), 0), ARRAY(SELECT DISTINCT pg_get_userbyid(owner)::text FROM objects),
			ARRAY(SELECT name FROM objects WHERE $4 OR $2 <> '{}' ORDER BY 1),
			ARRAY(SELECT n FROM unnest($2) n WHERE NOT EXISTS (SELECT FROM objects WHERE n = ANY(words))),
			ARRAY(SELECT DISTINCT privilege_type FROM aclexplode(acldefault('`+letter+`', 10)) ORDER BY 1),
			(SELECT coalesce(jsonb_agg(counts), '[]') FROM counts)`,
		g.On.subject(), names, g.Role, g.On.Kind == OnDatabase || g.On.Kind == OnSchema, g.On.Database).Scan(
		&roleExists, &schemaExists, &h.Objects, &h.OID, &h.RoleOID, &h.Owners, &h.Names, &h.Missing, &h.All, &h.Held)
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
	found := &Grant{Role: asked.Role, On: asked.On, Objects: h.Objects, TargetOID: h.OID, RoleOID: h.RoleOID, Owned: slices.Equal(h.Owners, []string{asked.Role})}
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
	return slices.DeleteFunc(slices.Clone(want), func(p string) bool {
		i := h.index(p)
		held := i >= 0 && h.Held[i].Count == h.Objects && (grantable == nil || !*grantable || h.Held[i].Grantable == h.Objects)
		return held || h.Objects == 0
	})
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
				return nil, &Error{Code: CodeBadValue, Message: fmt.Sprintf("the target has no privilege %q", p),
					Hint: "It has ALL, or " + strings.Join(h.All, ", ") + "."}
			}
			words = append(words, word)
		}
	}
	slices.Sort(words)
	return slices.Compact(words), nil
}
