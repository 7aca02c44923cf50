// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Schema is a schema of a database. Fields that are nil are unset.
// https://www.postgresql.org/docs/current/sql-createschema.html
type Schema struct {
	// Database and Name identify the schema.
	Database string `json:"database"`
	// Name of the schema in the database.
	Name string `json:"name"`
	// Owner is the role that owns it. Default: the user who creates it.
	Owner *string `json:"owner,omitempty"`
	// Comment without the labels.
	Comment *string `json:"comment,omitempty"`
	// Labels are stored at the end of the comment. If not nil, all others are removed.
	Labels map[string]string `json:"labels,omitempty"`

	// OID is the object identifier. Output only.
	OID uint32 `json:"oid,omitempty"`
	// CurrentOwner is the role that owns it, also if Owner is unset. Output only.
	CurrentOwner string `json:"currentOwner,omitempty"`
}

// GetSchema returns a schema of a database, IsNotFound if there is no such schema or database.
func (s *Server) GetSchema(ctx context.Context, database, name string) (schema *Schema, err error) {
	err = s.on(ctx, database, func(ctx context.Context, c *pgx.Conn) error {
		schema, _, err = getSchema(ctx, c, database, name)
		return err
	})
	return schema, err
}

// getSchema also returns the stored comment.
func getSchema(ctx context.Context, e executor, database, name string) (*Schema, string, error) {
	schema := &Schema{Database: database}
	var stored string
	err := e.QueryRow(ctx, `
		SELECT nspname::text, oid, pg_get_userbyid(nspowner)::text, coalesce(obj_description(oid, 'pg_namespace'), '')
		FROM pg_namespace WHERE nspname = $1`, name).Scan(&schema.Name, &schema.OID, &schema.Owner, &stored)
	if err != nil {
		return nil, "", orNotFound(err, codeNoSchema, "schema", name)
	}
	schema.CurrentOwner = *schema.Owner
	text, labels := splitComment(stored)
	schema.Comment, schema.Labels = &text, labels
	return schema, stored, nil
}

// CreateSchema creates a schema, IsExists if the name is taken.
func (s *Server) CreateSchema(ctx context.Context, schema Schema) (created *Schema, err error) {
	create := statement("CREATE SCHEMA").name(schema.Name)
	if schema.Owner != nil {
		create.sql("AUTHORIZATION").name(*schema.Owner)
	}
	err = s.within(ctx, schema.Database, func(ctx context.Context, tx pgx.Tx) error {
		return s.asMember(ctx, tx.Conn(), tx, append(given(schema.Owner), databaseOwner), func() error {
			if err := run(ctx, tx, append([]*command{create}, schema.describe("")...)...); err != nil {
				return err
			}
			created, _, err = getSchema(ctx, tx, schema.Database, schema.Name)
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// UpdateSchema changes what differs.
func (s *Server) UpdateSchema(ctx context.Context, schema Schema) error {
	return s.within(ctx, schema.Database, func(ctx context.Context, tx pgx.Tx) error {
		have, stored, err := getSchema(ctx, tx, schema.Database, schema.Name)
		if err != nil {
			return err
		}
		commands := schema.describe(stored)
		if differs(have.Owner, schema.Owner) {
			commands = append(commands, statement("ALTER SCHEMA").name(schema.Name).sql("OWNER TO").name(*schema.Owner))
		}
		return s.asMember(ctx, tx.Conn(), tx, append(given(have.Owner, schema.Owner), databaseOwner), func() error {
			return run(ctx, tx, commands...)
		})
	})
}

// DeleteSchemaOptions are the options of DeleteSchema.
type DeleteSchemaOptions struct {
	// Cascade deletes its contents and all that depends on them. Default: the error is IsConflict unless it is empty.
	Cascade bool
}

// DeleteSchema deletes a schema of a database, IsNotFound if there is no such schema or database.
func (s *Server) DeleteSchema(ctx context.Context, database, name string, o DeleteSchemaOptions) error {
	return s.within(ctx, database, func(ctx context.Context, tx pgx.Tx) error {
		have, _, err := getSchema(ctx, tx, database, name)
		if err != nil {
			return err
		}
		drop := statement("DROP SCHEMA").name(name)
		if o.Cascade {
			drop.sql("CASCADE")
		}
		return s.asMember(ctx, tx.Conn(), tx, given(have.Owner), func() error { return run(ctx, tx, drop) })
	})
}

// describe returns the commands for comment and labels.
func (s Schema) describe(stored string) []*command {
	return objectComment{s.Comment, s.Labels}.commands(stored, statement("SCHEMA").name(s.Name))
}
