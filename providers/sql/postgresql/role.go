// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/bowline-dev/bowline/providers/sql/postgresql/scram"
)

// forever is PostgreSQL's spelling of a time without end.
const forever = "infinity"

// Role is a role: a user, a group, or both. Fields that are nil are unset. Memberships are
// of type Grant.
// https://www.postgresql.org/docs/current/sql-createrole.html
type Role struct {
	// Name identifies the role.
	Name string `json:"name"`
	// Superuser bypasses all permission checks. Default: false.
	Superuser *bool `json:"superuser,omitempty"`
	// CreateDB may create databases. Default: false.
	CreateDB *bool `json:"createDb,omitempty"`
	// CreateRole may create and manage roles. Default: false.
	CreateRole *bool `json:"createRole,omitempty"`
	// Inherit has the privileges of the roles that it is a member of, without SET ROLE. Default: true.
	Inherit *bool `json:"inherit,omitempty"`
	// Login may connect. Default: false.
	Login *bool `json:"login,omitempty"`
	// Replication may replicate the server. Default: false.
	Replication *bool `json:"replication,omitempty"`
	// BypassRLS bypasses row-level security. Default: false.
	BypassRLS *bool `json:"bypassRls,omitempty"`
	// ConnectionLimit is the maximum number of connections; -1, the default, is no limit.
	ConnectionLimit *int `json:"connectionLimit,omitempty"`
	// ValidUntil is when the password expires: a time such as 2027-01-31T00:00:00Z, in UTC and whole seconds, or infinity,
	// the default.
	ValidUntil *string `json:"validUntil,omitempty"`
	// Password to log in with. It is never returned; see PasswordIs. Empty: none at Create, unchanged at Update.
	Password Secret `json:"-"`
	// Settings are configuration parameters for sessions in every database. If not nil, all others are reset.
	Settings map[string]string `json:"settings,omitempty"`
	// Comment without the labels.
	Comment *string `json:"comment,omitempty"`
	// Labels are stored at the end of the comment. If not nil, all others are removed.
	Labels map[string]string `json:"labels,omitempty"`

	// OID is the object identifier. Output only.
	OID uint32 `json:"oid,omitempty"`
}

// GetRole returns a role, IsNotFound if there is none.
func (s *Server) GetRole(ctx context.Context, name string) (r *Role, err error) {
	err = s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		r, _, err = getRole(ctx, c, name)
		return err
	})
	return r, err
}

// getRole also returns the stored comment.
func getRole(ctx context.Context, e executor, name string) (*Role, string, error) {
	r := &Role{}
	var settings []string
	var stored string
	err := e.QueryRow(ctx, `
		SELECT rolname::text, oid, rolsuper, rolcreatedb, rolcreaterole, rolinherit, rolcanlogin, rolreplication, rolbypassrls,
			rolconnlimit, coalesce(CASE WHEN isfinite(rolvaliduntil)
				THEN to_char(rolvaliduntil AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') ELSE rolvaliduntil::text END, 'infinity'),
			coalesce(rolconfig, '{}'), coalesce(shobj_description(oid, 'pg_authid'), '')
		FROM pg_roles WHERE rolname = $1`, name).Scan(
		&r.Name, &r.OID, &r.Superuser, &r.CreateDB, &r.CreateRole, &r.Inherit, &r.Login, &r.Replication, &r.BypassRLS,
		&r.ConnectionLimit, &r.ValidUntil, &settings, &stored)
	if err != nil {
		return nil, "", orNotFound(err, codeNoObject, "role", name)
	}
	r.Settings = parseSettings(settings)
	text, labels := splitComment(stored)
	r.Comment, r.Labels = &text, labels
	return r, stored, nil
}

// CreateRole creates a role, IsExists if the name is taken.
func (s *Server) CreateRole(ctx context.Context, r Role) (created *Role, err error) {
	create := r.options(&Role{}, statement("CREATE ROLE").name(r.Name))
	r.passwordOption(create)
	err = s.within(ctx, s.config.Database, func(ctx context.Context, tx pgx.Tx) error {
		if err := run(ctx, tx, append([]*command{create}, r.describe(&Role{}, "")...)...); err != nil {
			return err
		}
		created, _, err = getRole(ctx, tx, r.Name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// UpdateRole changes what differs. A password is always set; see PasswordIs.
func (s *Server) UpdateRole(ctx context.Context, r Role) error {
	return s.within(ctx, s.config.Database, func(ctx context.Context, tx pgx.Tx) error {
		have, stored, err := getRole(ctx, tx, r.Name)
		if err != nil {
			return err
		}
		options := r.options(have, new(command))
		r.passwordOption(options)
		commands := r.describe(have, stored)
		if options.text.Len() > 0 || options.err != nil {
			alter := statement("ALTER ROLE").name(r.Name).sql(options.text.String())
			alter.err = errors.Join(alter.err, options.err)
			commands = append(commands, alter)
		}
		return run(ctx, tx, commands...)
	})
}

// DeleteRole deletes a role and its memberships, IsNotFound if there is none. The error is IsConflict while the role owns objects
// or holds privileges in any database.
func (s *Server) DeleteRole(ctx context.Context, name string) error {
	return s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		return run(ctx, c, statement("DROP ROLE").name(name))
	})
}

// PasswordIs reports whether a role has the password, without logging in. known is false if the user may not read the stored
// verifier, as with most managed services; then the caller has to remember the password.
func (s *Server) PasswordIs(ctx context.Context, name string, password Secret) (is, known bool, err error) {
	var verifier *string
	err = s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, "SELECT rolpassword FROM pg_authid WHERE rolname = $1", name).Scan(&verifier)
	})
	switch {
	case IsPermission(err):
		return false, false, nil
	case errors.Is(err, pgx.ErrNoRows):
		return false, false, notFound(codeNoObject, "role", name)
	case err != nil:
		return false, false, err
	case verifier == nil:
		return password == "", true, nil
	}
	return scram.Matches(*verifier, name, string(password)), true, nil
}

// options adds those options that differ.
func (r Role) options(have *Role, c *command) *command {
	for _, o := range []struct {
		have, want *bool
		word       string
	}{
		{have.Superuser, r.Superuser, "SUPERUSER"}, {have.CreateDB, r.CreateDB, "CREATEDB"},
		{have.CreateRole, r.CreateRole, "CREATEROLE"}, {have.Inherit, r.Inherit, "INHERIT"}, {have.Login, r.Login, "LOGIN"},
		{have.Replication, r.Replication, "REPLICATION"}, {have.BypassRLS, r.BypassRLS, "BYPASSRLS"},
	} {
		switch {
		case !differs(o.have, o.want):
		case *o.want:
			c.sql(o.word)
		default:
			c.sql("NO" + o.word)
		}
	}
	if differs(have.ConnectionLimit, r.ConnectionLimit) {
		c.sql("CONNECTION LIMIT").number(*r.ConnectionLimit)
	}
	if differs(have.ValidUntil, r.ValidUntil) {
		c.sql("VALID UNTIL").value(*r.ValidUntil)
		if _, err := time.Parse(time.RFC3339, *r.ValidUntil); err != nil && *r.ValidUntil != forever {
			c.err = &Error{Code: codeBadValue, Message: fmt.Sprintf("time %q is neither like 2027-01-31T00:00:00Z nor %s",
				*r.ValidUntil, forever)}
		}
	}
	return c
}

func (r Role) passwordOption(c *command) {
	if r.Password == "" {
		return
	}
	verifier, err := scram.Verifier(string(r.Password))
	if err != nil {
		c.err = &Error{Code: codeBadValue, Message: fmt.Sprintf("password of role %q cannot be used", r.Name), Detail: err.Error()}
		return
	}
	c.sql("PASSWORD").value(verifier)
}

// describe returns the commands for settings, comment and labels.
func (r Role) describe(have *Role, stored string) []*command {
	object := statement("ROLE").name(r.Name)
	return append(settingCommands(have.Settings, r.Settings, object), objectComment{r.Comment, r.Labels}.commands(stored, object)...)
}
