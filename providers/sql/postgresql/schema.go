// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
)

// Schema is a schema of a database. Fields that are nil are unset.
// https://www.postgresql.org/docs/current/sql-createschema.html
type Schema struct {
	Database, Name string            // identity
	Owner          *string           // role that owns it; default: the user who creates it
	Comment        *string           // without the labels
	Labels         map[string]string // stored at the end of the comment; if not nil, all others are removed

	OID          uint32 // output only: the object identifier
	CurrentOwner string // output only: the role that owns it, also if Owner is unset
}

func (x *Schema) comments() (**string, *map[string]string) { return &x.Comment, &x.Labels }
func (x *Schema) where(*Server) string                     { return x.Database }
func (x *Schema) identity() *command                       { return statement("SCHEMA").name(x.Name) }
func (x *Schema) drop() *command                           { return statement("DROP SCHEMA").name(x.Name) }
func (x *Schema) create(ctx context.Context, s *Server) (*Schema, error) {
	return createOrdinary(ctx, s, x)
}
func (x *Schema) update(ctx context.Context, s *Server) error { return updateOrdinary(ctx, s, x) }
func (x *Schema) remove(ctx context.Context, s *Server, force bool) error {
	return removeOrdinary(ctx, s, x, force)
}

func (x *Schema) read(ctx context.Context, e executor) (*Schema, error) {
	return readOne[Schema](ctx, e, notFound(codeNoSchema, "schema", x.Name), `
		SELECT current_database()::text AS database, nspname::text AS name, oid, pg_get_userbyid(nspowner)::text AS owner,
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
	InstalledVersion string // output only: the version that is installed, also if Version is unset
}

func (x *Extension) comments() (**string, *map[string]string) { return &x.Comment, &x.Labels }
func (x *Extension) where(*Server) string                     { return x.Database }
func (x *Extension) identity() *command                       { return statement("EXTENSION").name(x.Name) }
func (x *Extension) drop() *command                           { return statement("DROP EXTENSION").name(x.Name) }
func (x *Extension) create(ctx context.Context, s *Server) (*Extension, error) {
	return createOrdinary(ctx, s, x)
}
func (x *Extension) update(ctx context.Context, s *Server) error { return updateOrdinary(ctx, s, x) }
func (x *Extension) remove(ctx context.Context, s *Server, force bool) error {
	return removeOrdinary(ctx, s, x, force)
}

func (x *Extension) read(ctx context.Context, e executor) (*Extension, error) {
	return readOne[Extension](ctx, e, notFound(codeNoObject, "extension", x.Name), `
		SELECT current_database()::text AS database, e.extname::text AS name, e.oid, e.extversion AS version,
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
