// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Extension is an extension that is installed in a database. Fields that are nil are unset.
// https://www.postgresql.org/docs/current/sql-createextension.html
type Extension struct {
	// Database and Name identify the extension.
	Database string `json:"database"`
	// Name of the extension.
	Name string `json:"name"`
	// Version to install or to update to. Default: the server's default version.
	Version *string `json:"version,omitempty"`
	// Schema for the objects. Not all extensions can be moved. Default: the one that the extension requires, else public.
	Schema *string `json:"schema,omitempty"`
	// Comment without the labels. Default: that of the extension.
	Comment *string `json:"comment,omitempty"`
	// Labels are stored at the end of the comment. If not nil, all others are removed.
	Labels map[string]string `json:"labels,omitempty"`
	// InstallDependencies also installs the extensions that this one needs. Input of Create only.
	InstallDependencies bool `json:"installDependencies,omitempty"`

	// OID is the object identifier. Output only.
	OID uint32 `json:"oid,omitempty"`
	// InstalledVersion is the version that is installed, also if Version is unset. Output only.
	InstalledVersion string `json:"installedVersion,omitempty"`
}

// GetExtension returns an extension of a database, IsNotFound if it is not installed or there is no such database.
func (s *Server) GetExtension(ctx context.Context, database, name string) (x *Extension, err error) {
	err = s.on(ctx, database, func(ctx context.Context, c *pgx.Conn) error {
		x, _, err = getExtension(ctx, c, database, name)
		return err
	})
	return x, err
}

// getExtension also returns the stored comment.
func getExtension(ctx context.Context, e executor, database, name string) (*Extension, string, error) {
	x := &Extension{Database: database}
	var stored string
	err := e.QueryRow(ctx, `
		SELECT e.extname::text, e.oid, e.extversion, n.nspname::text, coalesce(obj_description(e.oid, 'pg_extension'), '')
		FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
		WHERE e.extname = $1`, name).Scan(&x.Name, &x.OID, &x.Version, &x.Schema, &stored)
	if err != nil {
		return nil, "", orNotFound(err, codeNoObject, "extension", name)
	}
	x.InstalledVersion = *x.Version
	text, labels := splitComment(stored)
	x.Comment, x.Labels = &text, labels
	return x, stored, nil
}

// CreateExtension installs an extension, IsExists if it is installed, IsInvalid if the server does not have it.
func (s *Server) CreateExtension(ctx context.Context, x Extension) (created *Extension, err error) {
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
	err = s.within(ctx, x.Database, func(ctx context.Context, tx pgx.Tx) error {
		// The search path decides about the schema of an extension that does not require one.
		if err := run(ctx, tx, statement("SET LOCAL search_path TO public")); err != nil {
			return err
		}
		return s.asMember(ctx, tx.Conn(), tx, []string{databaseOwner}, func() error {
			if err := run(ctx, tx, create); err != nil {
				return err
			}
			if err := x.describe(ctx, tx); err != nil {
				return err
			}
			created, _, err = getExtension(ctx, tx, x.Database, x.Name)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// UpdateExtension changes what differs. The server must have an update path to the desired version.
func (s *Server) UpdateExtension(ctx context.Context, x Extension) error {
	return s.within(ctx, x.Database, func(ctx context.Context, tx pgx.Tx) error {
		have, _, err := getExtension(ctx, tx, x.Database, x.Name)
		if err != nil {
			return err
		}
		var commands []*command
		alter := func(words string) *command { return statement("ALTER EXTENSION").name(x.Name).sql(words) }
		if differs(have.Version, x.Version) {
			commands = append(commands, alter("UPDATE TO").value(*x.Version))
		}
		if differs(have.Schema, x.Schema) {
			commands = append(commands, alter("SET SCHEMA").name(*x.Schema))
		}
		if err := run(ctx, tx, commands...); err != nil {
			return err
		}
		return x.describe(ctx, tx)
	})
}

// DeleteExtensionOptions are the options of DeleteExtension.
type DeleteExtensionOptions struct {
	// Cascade deletes what depends on it, such as columns of its types. Default: the error is IsConflict if anything does.
	Cascade bool
}

// DeleteExtension removes an extension from a database, IsNotFound if it is not installed or there is no such database.
func (s *Server) DeleteExtension(ctx context.Context, database, name string, o DeleteExtensionOptions) error {
	drop := statement("DROP EXTENSION").name(name)
	if o.Cascade {
		drop.sql("CASCADE")
	}
	return s.on(ctx, database, func(ctx context.Context, c *pgx.Conn) error { return run(ctx, c, drop) })
}

// describe sets comment and labels. Other commands may have changed the comment, so it runs last.
func (x Extension) describe(ctx context.Context, e executor) error {
	_, stored, err := getExtension(ctx, e, x.Database, x.Name)
	if err != nil {
		return err
	}
	return run(ctx, e, objectComment{x.Comment, x.Labels}.commands(stored, statement("EXTENSION").name(x.Name))...)
}
