// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5"
)

// forever is PostgreSQL's spelling of a time without end.
const forever = "infinity"

// Role is a role: a user, a group, or both. Fields that are nil are unset. Memberships are of type Grant. Update always sets a
// Password that is not empty.
// https://www.postgresql.org/docs/current/sql-createrole.html
type Role struct {
	Name            string            // identity
	Superuser       *bool             // bypasses all permission checks; default: false
	CreateDB        *bool             // may create databases; default: false
	CreateRole      *bool             // may create and manage roles; default: false
	Inherit         *bool             // has the privileges of its groups without SET ROLE; default: true
	Login           *bool             // may connect; default: false
	Replication     *bool             // may replicate the server; default: false
	BypassRLS       *bool             // bypasses row-level security; default: false
	ConnectionLimit *int              // maximum number of connections; -1, the default, is no limit
	ValidUntil      *string           // expiry of the password, in UTC and whole seconds: 2027-01-31T00:00:00Z; default: infinity
	Password        Secret            `json:"-"` // to log in with, never returned; empty: none at Create, unchanged at Update
	Settings        map[string]string // configuration parameters for sessions; all others are left alone
	Comment         *string           // without the labels
	Labels          map[string]string // stored at the end of the comment; if not nil, all others are removed

	OID uint32 // output only: the object identifier
}

func (x *Role) comments() (**string, *map[string]string) { return &x.Comment, &x.Labels }
func (x *Role) where(s *Server) string                   { return s.config.Database }
func (x *Role) named() (string, string)                  { return "role", x.Name }
func (x *Role) identity() *command                       { return statement("ROLE").name(x.Name) }
func (x *Role) verbs() verbs[Role]                       { return ordinaryVerbs[Role, *Role]{x} }
func (x *Role) drop(bool) *command                       { return statement("DROP ROLE").name(x.Name) }
func (x *Role) membership(*Role) []string                { return nil }

func (x *Role) read(ctx context.Context, e executor) (*Role, error) {
	return readOne[Role](ctx, e, notFound(codeNoObject, "role", x.Name), `
		SELECT rolname::text AS name, oid, rolsuper AS superuser, rolcreatedb AS create_db, rolcreaterole AS create_role,
			rolinherit AS inherit, rolcanlogin AS login, rolreplication AS replication, rolbypassrls AS bypass_rls,
			rolconnlimit AS connection_limit, coalesce(CASE WHEN isfinite(rolvaliduntil)
				THEN to_char(rolvaliduntil AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
				ELSE rolvaliduntil::text END, 'infinity') AS valid_until,
			`+settingsFrom("unnest(rolconfig) s")+` AS settings, coalesce(shobj_description(oid, 'pg_authid'), '') AS comment
		FROM pg_roles WHERE rolname = $1`, x.Name)
}

// labelled is true for an object of a catalog with the label $1, which labelIs returns. Only the last line of a comment stores labels.
func labelled(catalog string) string {
	return `strpos(';' || substring(shobj_description(oid, ` + catalog + `) FROM '(?:^|\n)bowline: ([^\n]*)$') || ';', $1) > 0`
}

func labelIs(key, value string) string {
	return ";" + url.QueryEscape(key) + "=" + url.QueryEscape(value) + ";"
}

// RolesWithLabel returns the names of the roles that have a label.
func (s *Server) RolesWithLabel(ctx context.Context, key, value string) (found []string, err error) {
	err = s.reading(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		found, err = names(ctx, c, "SELECT rolname::text FROM pg_roles WHERE "+labelled("'pg_authid'")+" ORDER BY 1", labelIs(key, value))
		return err
	})
	return found, err
}

func (x *Role) changes(have *Role) []*command {
	if have == nil {
		create := statement("CREATE ROLE").name(x.Name).add(x.options(&Role{}))
		return append([]*command{create}, settingCommands(nil, x.Settings, x.identity())...)
	}
	commands := settingCommands(have.Settings, x.Settings, x.identity())
	if options := x.options(have); options.text.Len() > 0 || options.err != nil {
		commands = append(commands, statement("ALTER ROLE").name(x.Name).add(options))
	}
	return commands
}

// options returns the options that differ, and the password.
func (x *Role) options(have *Role) *command {
	c := new(command)
	for _, o := range []struct {
		have, want *bool
		word       string
	}{
		{have.Superuser, x.Superuser, "SUPERUSER"}, {have.CreateDB, x.CreateDB, "CREATEDB"},
		{have.CreateRole, x.CreateRole, "CREATEROLE"}, {have.Inherit, x.Inherit, "INHERIT"}, {have.Login, x.Login, "LOGIN"},
		{have.Replication, x.Replication, "REPLICATION"}, {have.BypassRLS, x.BypassRLS, "BYPASSRLS"},
	} {
		switch {
		case !differs(o.have, o.want):
		case *o.want:
			c.sql(o.word)
		default:
			c.sql("NO" + o.word)
		}
	}
	if differs(have.ConnectionLimit, x.ConnectionLimit) {
		c.sql("CONNECTION LIMIT").number(*x.ConnectionLimit)
	}
	if differs(have.ValidUntil, x.ValidUntil) {
		c.sql("VALID UNTIL").value(*x.ValidUntil)
		if _, err := time.Parse(time.RFC3339, *x.ValidUntil); err != nil && *x.ValidUntil != forever {
			c.err = &Error{Code: CodeBadValue, Message: fmt.Sprintf("time %q is neither like 2027-01-31T00:00:00Z nor %s",
				*x.ValidUntil, forever)}
		}
	}
	if x.Password == "" {
		return c
	}
	stored, err := verifier(string(x.Password))
	if err != nil {
		c.err = &Error{Code: CodeBadValue, Message: fmt.Sprintf("password of role %q cannot be used", x.Name), Detail: err.Error()}
		return c
	}
	return c.sql("PASSWORD").value(stored)
}

func dropped(object *command, cascade bool) *command {
	c := statement("DROP").add(object)
	if cascade {
		c.sql("CASCADE")
	}
	return c
}

// Schema is a schema of a database. Fields that are nil are unset.
// https://www.postgresql.org/docs/current/sql-createschema.html
type Schema struct {
	Database, Name string            // identity
	Owner          *string           // role that owns it; default: the user that creates it
	Comment        *string           // without the labels
	Labels         map[string]string // stored at the end of the comment; if not nil, all others are removed

	OID          uint32 // output only: the object identifier
	DatabaseOID  uint32 // output only: that of the database
	CurrentOwner string // output only: the role that owns it, also if Owner is unset
}

const databaseOID = "(SELECT oid FROM pg_database WHERE datname = current_database()) AS database_oid"

func (x *Schema) comments() (**string, *map[string]string) { return &x.Comment, &x.Labels }
func (x *Schema) where(*Server) string                     { return x.Database }
func (x *Schema) named() (string, string)                  { return "schema", x.Name }
func (x *Schema) identity() *command                       { return statement("SCHEMA").name(x.Name) }
func (x *Schema) verbs() verbs[Schema]                     { return ordinaryVerbs[Schema, *Schema]{x} }
func (x *Schema) drop(cascade bool) *command               { return dropped(x.identity(), cascade) }

func (x *Schema) read(ctx context.Context, e executor) (*Schema, error) {
	return readOne[Schema](ctx, e, notFound(codeNoSchema, "schema", x.Name), `
		SELECT current_database()::text AS database, `+databaseOID+`, nspname::text AS name, oid, pg_get_userbyid(nspowner)::text AS owner,
			pg_get_userbyid(nspowner)::text AS current_owner, coalesce(obj_description(oid, 'pg_namespace'), '') AS comment
		FROM pg_namespace WHERE nspname = $1`, x.Name)
}

func (x *Schema) membership(have *Schema) []string {
	if have != nil {
		return append(given(have.Owner, x.Owner), databaseOwner)
	}
	return append(given(x.Owner), databaseOwner)
}

func (x *Schema) changes(have *Schema) []*command {
	switch {
	case have == nil && x.Owner != nil:
		return []*command{statement("CREATE SCHEMA").name(x.Name).sql("AUTHORIZATION").name(*x.Owner)}
	case have == nil:
		return []*command{statement("CREATE SCHEMA").name(x.Name)}
	case differs(have.Owner, x.Owner):
		return []*command{statement("ALTER SCHEMA").name(x.Name).sql("OWNER TO").name(*x.Owner)}
	}
	return nil
}

// Extension is an extension that is installed in a database. Fields that are nil are unset. Create returns IsInvalid if the server
// does not have the extension; Update needs a path to the desired version.
// https://www.postgresql.org/docs/current/sql-createextension.html
type Extension struct {
	Database, Name      string            // identity
	Version             *string           // to install or to update to; default: the server's default version
	Schema              *string           // of its objects; default: the one that the extension requires, else public
	Comment             *string           // without the labels; default: that of the extension
	Labels              map[string]string // stored at the end of the comment; if not nil, all others are removed
	InstallDependencies bool              // input of Create only: also install the extensions that this one needs

	OID              uint32 // output only: the object identifier
	DatabaseOID      uint32 // output only: that of the database
	InstalledVersion string // output only: the version that is installed, also if Version is unset
}

func (x *Extension) comments() (**string, *map[string]string) { return &x.Comment, &x.Labels }
func (x *Extension) where(*Server) string                     { return x.Database }
func (x *Extension) named() (string, string)                  { return "extension", x.Name }
func (x *Extension) identity() *command                       { return statement("EXTENSION").name(x.Name) }
func (x *Extension) verbs() verbs[Extension]                  { return ordinaryVerbs[Extension, *Extension]{x} }
func (x *Extension) drop(cascade bool) *command               { return dropped(x.identity(), cascade) }

func (x *Extension) read(ctx context.Context, e executor) (*Extension, error) {
	return readOne[Extension](ctx, e, notFound(codeNoObject, "extension", x.Name), `
		SELECT current_database()::text AS database, `+databaseOID+`, e.extname::text AS name, e.oid, e.extversion AS version,
			e.extversion AS installed_version, n.nspname::text AS schema, coalesce(obj_description(e.oid, 'pg_extension'), '') AS comment
		FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = $1`, x.Name)
}

// membership is that of a new extension: its user owns it.
func (x *Extension) membership(have *Extension) []string {
	if have != nil {
		return nil
	}
	return []string{databaseOwner}
}

func (x *Extension) changes(have *Extension) []*command {
	if have == nil {
		create := statement("CREATE EXTENSION").name(x.Name)
		if x.Schema != nil {
			create.sql("SCHEMA").name(*x.Schema)
		}
		if x.Version != nil {
			create.sql("VERSION").value(*x.Version)
		}
		if x.InstallDependencies {
			create.sql("CASCADE")
		}
		// The search path decides about the schema of an extension that does not require one.
		return []*command{statement("SET LOCAL search_path TO public"), create}
	}
	var commands []*command
	if differs(have.Version, x.Version) {
		commands = append(commands, statement("ALTER EXTENSION").name(x.Name).sql("UPDATE TO").value(*x.Version))
	}
	if differs(have.Schema, x.Schema) {
		commands = append(commands, statement("ALTER EXTENSION").name(x.Name).sql("SET SCHEMA").name(*x.Schema))
	}
	return commands
}
