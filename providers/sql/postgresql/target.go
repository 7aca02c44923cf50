// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"fmt"
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
		return &Error{Code: codeBadValue, Message: fmt.Sprintf("target kind %q is unknown", t.Kind),
			Hint: "It is one of Role, Database, Schema, Table, Sequence and Routine."}
	}
	for _, field := range []struct {
		name           string
		given, belongs bool
	}{
		{"role", t.Role != "", t.Kind == OnRole}, {"database", t.Database != "", t.Kind != OnRole},
		{"schema", t.Schema != "", inSchema || t.Kind == OnSchema},
	} {
		if field.given != field.belongs {
			return &Error{Code: codeBadValue, Message: fmt.Sprintf("target of kind %s: %s given %t, but needed %t",
				t.Kind, field.name, field.given, field.belongs)}
		}
	}
	if len(t.Names) > 0 && !inSchema {
		return &Error{Code: codeBadValue, Message: fmt.Sprintf("target of kind %s takes no names", t.Kind)}
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
