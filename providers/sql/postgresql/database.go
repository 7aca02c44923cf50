// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"
)

// Database is a database. Fields that are nil are unset. PostgreSQL creates databases outside of transactions, so settings, comment
// and labels follow in a separate one and are missing after an interruption; if the server refuses them the database is deleted again.
// https://www.postgresql.org/docs/current/sql-createdatabase.html
type Database struct {
	Name             string            // identity
	Owner            *string           // role that owns it; default: the user that creates it
	Template         *string           // database to copy, never returned; default: template1
	Encoding         *string           // for example UTF8; fixed at creation, as are the locale fields; default: that of the template
	LCCollate        *string           // libc locale for collation
	LCCtype          *string           // libc locale for character classification
	LocaleProvider   *string           // libc, icu, or, since version 17, builtin
	ICULocale        *string           // locale if LocaleProvider is icu
	ICURules         *string           // additional collation rules, since version 16
	BuiltinLocale    *string           // locale if LocaleProvider is builtin
	Tablespace       *string           // default tablespace; a change moves the tables, which fails while sessions are connected
	AllowConnections *bool             // permits connections
	ConnectionLimit  *int              // maximum number of connections, not counting superusers; -1 is no limit
	IsTemplate       *bool             // lets every role with CREATEDB copy it
	Settings         map[string]string // configuration parameters for sessions; all others are left alone
	Comment          *string           // without the labels
	Labels           map[string]string // stored at the end of the comment; if not nil, all others are removed

	OID              uint32 // output only: the object identifier
	CurrentOwner     string // output only: the role that owns it, also if Owner is unset
	CollationVersion string // output only: version of the collation library that the indexes were built with
	OwnerConnects    bool   // output only: the owner has the privilege to connect
	Invalid          bool   // output only: it can only be deleted, after an interrupted deletion
}

func (x *Database) comments() (**string, *map[string]string) { return &x.Comment, &x.Labels }
func (x *Database) named() (string, string)                  { return "database", x.Name }
func (x *Database) verbs() verbs[Database]                   { return x }
func (x *Database) check(s *Server) error                    { return checkNamed(s, "database", x.Name) }
func (x *Database) where(s *Server) string                   { return s.config.Database }

// read reads the columns that only some versions have through JSON.
func (x *Database) read(ctx context.Context, e executor) (*Database, error) {
	return readOne[Database](ctx, e, notFound(codeNoDatabase, "database", x.Name), `
		SELECT d.datname::text AS name, d.oid, pg_get_userbyid(d.datdba)::text AS owner, pg_get_userbyid(d.datdba)::text AS current_owner,
			pg_encoding_to_char(d.encoding)::text AS encoding, d.datcollate::text AS lc_collate, d.datctype::text AS lc_ctype,
			CASE j->>'datlocprovider' WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END AS locale_provider,
			CASE j->>'datlocprovider' WHEN 'i' THEN coalesce(j->>'datlocale', j->>'daticulocale') END AS icu_locale,
			j->>'daticurules' AS icu_rules, CASE j->>'datlocprovider' WHEN 'b' THEN j->>'datlocale' END AS builtin_locale,
			t.spcname::text AS tablespace, d.datallowconn AS allow_connections, d.datconnlimit AS connection_limit,
			has_database_privilege(d.datdba, d.oid, 'CONNECT') AS owner_connects,
			d.datconnlimit = -2 AS invalid, d.datistemplate AS is_template, coalesce(j->>'datcollversion', '') AS collation_version,
			`+settingsFrom("pg_db_role_setting, unnest(setconfig) s WHERE setdatabase = d.oid AND setrole = 0")+` AS settings,
			coalesce(shobj_description(d.oid, 'pg_database'), '') AS comment
		FROM pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace, to_jsonb(d) j WHERE d.datname = $1`, x.Name)
}

// WithOID returns the name and the labels of a "database" or "role", or IsNotFound.
func (s *Server) WithOID(ctx context.Context, kind string, oid uint32) (name string, labels map[string]string, err error) {
	query := map[string]string{
		"database": "SELECT datname::text, coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE oid = $1",
		"role":     "SELECT rolname::text, coalesce(shobj_description(oid, 'pg_authid'), '') FROM pg_roles WHERE oid = $1",
	}[kind]
	err = s.reading(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		var comment string
		err := c.QueryRow(ctx, query, oid).Scan(&name, &comment)
		if errors.Is(err, pgx.ErrNoRows) {
			return notFound(codeNoObject, kind, fmt.Sprint(oid))
		}
		_, labels = splitComment(comment)
		return err
	})
	return name, labels, err
}

// SameEncoding reports whether two names mean the same encoding, as UTF8, utf-8 and unicode do.
func (s *Server) SameEncoding(ctx context.Context, a, b string) (same bool, err error) {
	if a == b {
		return true, nil
	}
	err = s.reading(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SELECT pg_char_to_encoding($1) = pg_char_to_encoding($2)", a, b).Scan(&same)
	})
	return same, err
}

func (x *Database) create(ctx context.Context, s *Server) (created *Database, err error) {
	template := "template1"
	if x.Template != nil {
		template = *x.Template
	}
	s.pool.closeIdleTo(template) // no session may be connected to it
	err = s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		create, rest := x.creation(), x.description(&Database{})
		if err := firstError(append(rest, create)...); err != nil {
			return err
		}
		return s.asMember(ctx, c, c, given(x.Owner), func() error {
			if err := run(ctx, c, create); err != nil {
				return x.explain(ctx, c, err)
			}
			if err := runTogether(ctx, c, rest); err != nil {
				return s.undoCreate(ctx, c, x.Name, err)
			}
			created, err = x.read(ctx, c)
			return err
		})
	})
	return created, err
}

// explain returns why a database that exists can be neither used nor created, or else the error of its creation.
func (x *Database) explain(ctx context.Context, c *pgx.Conn, err error) error {
	if have, failed := x.read(ctx, c); failed == nil && have.Invalid {
		return &Error{Code: codeNotReady, Message: fmt.Sprintf("database %q is being dropped, or its removal was interrupted", x.Name),
			Hint: "If that was interrupted, finish it by DROP DATABASE."}
	}
	return err
}

// undoCreate deletes a database that was just created, because failure occurred, and returns failure.
func (s *Server) undoCreate(ctx context.Context, c *pgx.Conn, name string, failure error) error {
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	if run(undo, c, statement("DROP DATABASE").name(name)) == nil {
		return failure
	}
	failure = s.classify(ctx, s.config.Database, failure)
	if refused, ok := errors.AsType[*Error](failure); ok {
		refused.left = true
	}
	return failure
}

func (x *Database) creation() *command {
	c := statement("CREATE DATABASE").name(x.Name)
	for _, o := range []struct {
		words string
		value *string
		add   func(c *command, value string) *command
	}{
		{"OWNER", x.Owner, (*command).oneName}, {"TEMPLATE", x.Template, (*command).oneName},
		{"TABLESPACE", x.Tablespace, (*command).oneName}, {"ENCODING", x.Encoding, (*command).value},
		{"LC_COLLATE", x.LCCollate, (*command).value}, {"LC_CTYPE", x.LCCtype, (*command).value},
		{"LOCALE_PROVIDER", x.LocaleProvider, (*command).value}, {"ICU_LOCALE", x.ICULocale, (*command).value},
		{"ICU_RULES", x.ICURules, (*command).value}, {"BUILTIN_LOCALE", x.BuiltinLocale, (*command).value},
	} {
		if o.value != nil {
			o.add(c.sql(o.words), *o.value)
		}
	}
	return c.add(x.options(&Database{}))
}

// options returns those options that can change and differ.
func (x *Database) options(have *Database) *command {
	c := new(command)
	if differs(have.AllowConnections, x.AllowConnections) {
		c.sql("ALLOW_CONNECTIONS").boolean(*x.AllowConnections)
	}
	if differs(have.ConnectionLimit, x.ConnectionLimit) {
		c.sql("CONNECTION LIMIT").number(*x.ConnectionLimit)
	}
	if differs(have.IsTemplate, x.IsTemplate) {
		c.sql("IS_TEMPLATE").boolean(*x.IsTemplate)
	}
	return c
}

// description returns the commands for settings, comment and labels.
func (x *Database) description(have *Database) []*command {
	object := statement("DATABASE").name(x.Name)
	return append(settingCommands(have.Settings, x.Settings, object), commentCommands(object, have, x)...)
}

func (x *Database) update(ctx context.Context, s *Server) error {
	if x.Tablespace != nil {
		s.pool.closeIdleTo(x.Name) // no session may be connected when it is moved
	}
	return s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		have, err := x.read(ctx, c)
		if err != nil {
			return err
		}
		alter := func() *command { return statement("ALTER DATABASE").name(x.Name) }
		commands := x.description(have)
		if options := x.options(have); options.text.Len() > 0 {
			commands = append(commands, alter().add(options))
		}
		if differs(have.Owner, x.Owner) {
			commands = append(commands, alter().sql("OWNER TO").name(*x.Owner))
		}
		return s.asMember(ctx, c, c, given(have.Owner, x.Owner), func() error {
			if err := runTogether(ctx, c, commands); err != nil || !differs(have.Tablespace, x.Tablespace) {
				return err
			}
			return run(ctx, c, alter().sql("SET TABLESPACE").name(*x.Tablespace))
		})
	})
}

// remove deletes also a template.
func (x *Database) remove(ctx context.Context, s *Server, force bool) error {
	s.pool.closeIdleTo(x.Name)
	return s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		have, err := x.read(ctx, c)
		if err != nil {
			return err
		}
		roles, drop := given(have.Owner), statement("DROP DATABASE").name(x.Name)
		if force { // Only members of the roles with sessions may terminate these.
			drop.sql("WITH (FORCE)")
			connected, err := names(ctx, c, `SELECT DISTINCT usename::text FROM pg_stat_activity
				WHERE datname = $1 AND usename IS NOT NULL`, x.Name)
			if err != nil {
				return err
			}
			roles = append(roles, connected...)
		}
		return s.asMember(ctx, c, c, roles, func() error {
			if *have.IsTemplate && !have.Invalid {
				if err := run(ctx, c, statement("ALTER DATABASE").name(x.Name).sql("IS_TEMPLATE false")); err != nil {
					return err
				}
			}
			return run(ctx, c, drop)
		})
	})
}

func given(roles ...*string) []string {
	var names []string
	for _, r := range roles {
		if r != nil {
			names = append(names, *r)
		}
	}
	return names
}

// Room is what a server has for the sessions of databases that limit them.
type Room struct {
	Sessions int // without those that are reserved for superusers, and those of this client
	Promised int // of them, by limits for all databases but one
}

// Room returns how many sessions there can be, and how many the databases other than the named one may have by limits that their users
// cannot change: those of ordinary roles that own a database, and of databases that superusers or this user own. Roles and databases whose
// labels have the key private do not count, since others chose their limits.
func (s *Server) Room(ctx context.Context, other, private string) (r Room, err error) {
	err = s.reading(ctx, s.config.Database, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `WITH databases AS (
				SELECT d.oid, datconnlimit, datdba, rolconnlimit, rolsuper OR rolname = current_user AS safe
				FROM pg_database d JOIN pg_roles r ON r.oid = datdba WHERE datname <> $2),
			promises AS (
				SELECT oid, 'pg_database' AS catalog, datconnlimit AS sessions FROM databases WHERE safe
				UNION SELECT datdba, 'pg_authid', rolconnlimit FROM databases WHERE NOT safe)
			SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int -
				coalesce(current_setting('reserved_connections', true)::int, 0), coalesce(sum(sessions), 0)::int
			FROM promises WHERE sessions BETWEEN 1 AND 262143 AND (`+labelled("catalog")+`) IS NOT TRUE`, ";"+url.QueryEscape(private)+"=", other).
			Scan(&r.Sessions, &r.Promised)
	})
	r.Sessions -= s.config.MaxConns
	return r, err
}
