// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Database is a database. Fields that are nil are unset.
// https://www.postgresql.org/docs/current/sql-createdatabase.html
type Database struct {
	// Name identifies the database.
	Name string `json:"name"`
	// Owner is the role that owns it. Default: the user who creates it.
	Owner *string `json:"owner,omitempty"`
	// Template is the database to copy. It is not returned. Default: template1.
	Template *string `json:"template,omitempty"`
	// Encoding, for example UTF8. It is fixed at creation, as are the locale fields. Default: that of the template.
	Encoding *string `json:"encoding,omitempty"`
	// LCCollate is the libc locale for collation. Default: that of the template.
	LCCollate *string `json:"lcCollate,omitempty"`
	// LCCtype is the libc locale for character classification. Default: that of the template.
	LCCtype *string `json:"lcCtype,omitempty"`
	// LocaleProvider is libc, icu, or, since version 17, builtin. Default: that of the template.
	LocaleProvider *string `json:"localeProvider,omitempty"`
	// ICULocale is the locale if LocaleProvider is icu.
	ICULocale *string `json:"icuLocale,omitempty"`
	// ICURules are additional collation rules, since version 16.
	ICURules *string `json:"icuRules,omitempty"`
	// BuiltinLocale is the locale if LocaleProvider is builtin.
	BuiltinLocale *string `json:"builtinLocale,omitempty"`
	// Tablespace is the default tablespace. Changing it moves the tables, which fails while sessions are connected.
	Tablespace *string `json:"tablespace,omitempty"`
	// AllowConnections permits connections.
	AllowConnections *bool `json:"allowConnections,omitempty"`
	// ConnectionLimit is the maximum number of connections, not counting superusers; -1 is no limit.
	ConnectionLimit *int `json:"connectionLimit,omitempty"`
	// IsTemplate lets every role with CREATEDB copy it.
	IsTemplate *bool `json:"isTemplate,omitempty"`
	// Settings are configuration parameters for sessions. If not nil, all others are reset.
	Settings map[string]string `json:"settings,omitempty"`
	// Comment without the labels.
	Comment *string `json:"comment,omitempty"`
	// Labels are stored at the end of the comment. If not nil, all others are removed.
	Labels map[string]string `json:"labels,omitempty"`

	// OID is the object identifier. Output only.
	OID uint32 `json:"oid,omitempty"`
	// CurrentOwner is the role that owns it, also if Owner is unset. Output only.
	CurrentOwner string `json:"currentOwner,omitempty"`
	// CollationVersion is the version of the collation library that the indexes were built with. Output only.
	CollationVersion string `json:"collationVersion,omitempty"`
	// Invalid is true after an interrupted deletion: it can only be deleted. Output only.
	Invalid bool `json:"invalid,omitempty"`
}

// GetDatabase returns a database, IsNotFound if there is none.
func (s *Server) GetDatabase(ctx context.Context, name string) (d *Database, err error) {
	err = s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		d, _, err = getDatabase(ctx, c, name)
		return err
	})
	return d, err
}

// getDatabase also returns the stored comment. Columns that only some versions have are read through JSON.
func getDatabase(ctx context.Context, e executor, name string) (*Database, string, error) {
	const invalid = -2
	d := &Database{}
	var settings []string
	var stored string
	err := e.QueryRow(ctx, `
		SELECT d.datname::text, d.oid, pg_get_userbyid(d.datdba)::text, pg_encoding_to_char(d.encoding)::text,
			d.datcollate::text, d.datctype::text,
			CASE j->>'datlocprovider' WHEN 'i' THEN 'icu' WHEN 'b' THEN 'builtin' ELSE 'libc' END,
			CASE j->>'datlocprovider' WHEN 'i' THEN coalesce(j->>'datlocale', j->>'daticulocale') END,
			j->>'daticurules',
			CASE j->>'datlocprovider' WHEN 'b' THEN j->>'datlocale' END,
			t.spcname::text, d.datallowconn, d.datconnlimit, d.datistemplate, coalesce(j->>'datcollversion', ''),
			coalesce(shobj_description(d.oid, 'pg_database'), ''),
			coalesce((SELECT setconfig FROM pg_db_role_setting WHERE setdatabase = d.oid AND setrole = 0), '{}')
		FROM pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace, to_jsonb(d) j
		WHERE d.datname = $1`, name).Scan(
		&d.Name, &d.OID, &d.Owner, &d.Encoding, &d.LCCollate, &d.LCCtype, &d.LocaleProvider, &d.ICULocale, &d.ICURules,
		&d.BuiltinLocale, &d.Tablespace, &d.AllowConnections, &d.ConnectionLimit, &d.IsTemplate, &d.CollationVersion,
		&stored, &settings)
	if err != nil {
		return nil, "", orNotFound(err, codeNoDatabase, "database", name)
	}
	d.Invalid = *d.ConnectionLimit == invalid
	d.Settings = parseSettings(settings)
	d.CurrentOwner = *d.Owner
	text, labels := splitComment(stored)
	d.Comment, d.Labels = &text, labels
	return d, stored, nil
}

// SameEncoding reports whether two names mean the same encoding, as UTF8, utf-8 and unicode do.
func (s *Server) SameEncoding(ctx context.Context, a, b string) (same bool, err error) {
	if a == b {
		return true, nil
	}
	err = s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SELECT pg_char_to_encoding($1) = pg_char_to_encoding($2)", a, b).Scan(&same)
	})
	return same, err
}

// CreateDatabase creates a database, IsExists if the name is taken. PostgreSQL creates databases outside of transactions, so
// settings, comment and labels follow in a separate one and are missing after an interruption. If the server refuses them the
// database is deleted again.
func (s *Server) CreateDatabase(ctx context.Context, d Database) (created *Database, err error) {
	template := "template1"
	if d.Template != nil {
		template = *d.Template
	}
	s.pool.CloseIdle(template) // no session may be connected to it
	err = s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		create, rest := d.create(), d.describe(&Database{}, "")
		if err := firstError(append(rest, create)...); err != nil {
			return err
		}
		return s.asMember(ctx, c, c, given(d.Owner), func() error {
			if err := run(ctx, c, create); err != nil {
				return err
			}
			if err := runTogether(ctx, c, rest); err != nil {
				return s.undoCreate(ctx, c, d.Name, err)
			}
			created, _, err = getDatabase(ctx, c, d.Name)
			return err
		})
	})
	return created, err
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

func (d Database) create() *command {
	c := statement("CREATE DATABASE").name(d.Name)
	for _, o := range []struct {
		words string
		value *string
	}{{"OWNER", d.Owner}, {"TEMPLATE", d.Template}, {"TABLESPACE", d.Tablespace}} {
		if o.value != nil {
			c.sql(o.words).name(*o.value)
		}
	}
	for _, o := range []struct {
		words string
		value *string
	}{
		{"ENCODING", d.Encoding}, {"LC_COLLATE", d.LCCollate}, {"LC_CTYPE", d.LCCtype}, {"LOCALE_PROVIDER", d.LocaleProvider},
		{"ICU_LOCALE", d.ICULocale}, {"ICU_RULES", d.ICURules}, {"BUILTIN_LOCALE", d.BuiltinLocale},
	} {
		if o.value != nil {
			c.sql(o.words).value(*o.value)
		}
	}
	return d.options(&Database{}, c)
}

// options adds those options that can change and differ.
func (d Database) options(have *Database, c *command) *command {
	if differs(have.AllowConnections, d.AllowConnections) {
		c.sql("ALLOW_CONNECTIONS").boolean(*d.AllowConnections)
	}
	if differs(have.ConnectionLimit, d.ConnectionLimit) {
		c.sql("CONNECTION LIMIT").number(*d.ConnectionLimit)
	}
	if differs(have.IsTemplate, d.IsTemplate) {
		c.sql("IS_TEMPLATE").boolean(*d.IsTemplate)
	}
	return c
}

// describe returns the commands for settings, comment and labels.
func (d Database) describe(have *Database, stored string) []*command {
	object := statement("DATABASE").name(d.Name)
	return append(settingCommands(have.Settings, d.Settings, object), objectComment{d.Comment, d.Labels}.commands(stored, object)...)
}

// UpdateDatabase changes what differs.
func (s *Server) UpdateDatabase(ctx context.Context, d Database) error {
	if d.Tablespace != nil {
		s.pool.CloseIdle(d.Name) // no session may be connected when it is moved
	}
	return s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		have, stored, err := getDatabase(ctx, c, d.Name)
		if err != nil {
			return err
		}
		return s.asMember(ctx, c, c, given(have.Owner, d.Owner), func() error {
			if err := runTogether(ctx, c, d.changes(have, stored)); err != nil {
				return err
			}
			if !differs(have.Tablespace, d.Tablespace) {
				return nil
			}
			return run(ctx, c, statement("ALTER DATABASE").name(d.Name).sql("SET TABLESPACE").name(*d.Tablespace))
		})
	})
}

// changes returns the commands for all that can change in a transaction.
func (d Database) changes(have *Database, stored string) []*command {
	var commands []*command
	alter := func() *command { return statement("ALTER DATABASE").name(d.Name) }
	if options := d.options(have, new(command)); options.text.Len() > 0 {
		commands = append(commands, alter().sql(options.text.String()))
	}
	commands = append(commands, d.describe(have, stored)...)
	if differs(have.Owner, d.Owner) {
		commands = append(commands, alter().sql("OWNER TO").name(*d.Owner))
	}
	return commands
}

// DeleteDatabaseOptions are the options of DeleteDatabase.
type DeleteDatabaseOptions struct {
	// Force terminates sessions in the database. Default: the error is IsConflict while there are any.
	Force bool
}

// DeleteDatabase deletes a database, also a template, IsNotFound if there is none.
func (s *Server) DeleteDatabase(ctx context.Context, name string, o DeleteDatabaseOptions) error {
	s.pool.CloseIdle(name)
	return s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		have, _, err := getDatabase(ctx, c, name)
		if err != nil {
			return err
		}
		roles := given(have.Owner)
		if o.Force {
			connectedRoles, err := connected(ctx, c, name)
			if err != nil {
				return err
			}
			roles = append(roles, connectedRoles...)
		}
		return s.asMember(ctx, c, c, roles, func() error {
			if *have.IsTemplate && !have.Invalid {
				if err := run(ctx, c, statement("ALTER DATABASE").name(name).sql("IS_TEMPLATE false")); err != nil {
					return err
				}
			}
			drop := statement("DROP DATABASE").name(name)
			if o.Force {
				drop.sql("WITH (FORCE)")
			}
			return run(ctx, c, drop)
		})
	})
}

// connected returns the roles with sessions in a database: only their members may terminate them.
func connected(ctx context.Context, e executor, database string) ([]string, error) {
	return names(ctx, e, "SELECT DISTINCT usename::text FROM pg_stat_activity WHERE datname = $1 AND usename IS NOT NULL", database)
}

// given returns the roles that are set.
func given(roles ...*string) []string {
	var names []string
	for _, r := range roles {
		if r != nil {
			names = append(names, *r)
		}
	}
	return names
}
