// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// An OwnerError reports an object that a Grant with Within must not give to others.
type OwnerError struct{ Object, Owner string }

// Error names the object and its owner.
func (e *OwnerError) Error() string {
	return fmt.Sprintf("%s belongs to role %q, and not everyone has the privileges on it", e.Object, e.Owner)
}

// confined refuses privileges that not everyone has on objects of roles without the labels of Within. The functions of an extension belong
// to a superuser, for example, and some can do what only superusers may. pg_database_owner stands for the owner of the database, whose
// schema public has another owner only if it was created before PostgreSQL 15.
func (g *Grant) confined(ctx context.Context, e executor, h *holdings) error {
	if g.Within == nil || g.On.Kind == OnDatabase || g.On.Kind == OnSchema && g.On.Schema == "public" {
		return nil
	}
	want, err := h.canonical(g.Privileges)
	if err != nil {
		return err
	}
	if len(want) == 0 {
		want = h.extra(nil)
	}
	objects, letter := g.On.objects()
	rows, err := e.Query(ctx, `
		WITH objects AS (`+objects+`)
		SELECT pg_get_userbyid(owner)::text, coalesce(shobj_description(owner, 'pg_authid'), ''),
			coalesce(CASE WHEN $5 THEN obj_description(oid, 'pg_namespace') END, ''), min(name)
		FROM objects WHERE pg_get_userbyid(owner) <> '`+databaseOwner+`' AND ($4 OR NOT $3::text[] <@ ARRAY(
			SELECT privilege_type FROM aclexplode(coalesce(acl, acldefault('`+letter+`', owner))) WHERE grantee = 0))
		GROUP BY 1, 2, 3 ORDER BY 1`,
		g.On.subject(), append([]string{}, g.On.Names...), want, g.GrantOption != nil && *g.GrantOption, g.On.Kind == OnSchema)
	if err != nil {
		return err
	}
	type owned struct{ Owner, OwnerComment, Comment, Object string }
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[owned])
	if err != nil {
		return err
	}
	for _, o := range found {
		if !g.within(o.OwnerComment) && !g.within(o.Comment) {
			return &OwnerError{Object: o.Object, Owner: o.Owner}
		}
	}
	return nil
}

func (g *Grant) within(comment string) bool {
	_, labels := splitComment(comment)
	for key, value := range g.Within {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// Untrusted returns the extensions, sorted, that Create or Update of x would install or update and that are not trusted: their scripts
// and functions are not safe in the hands of ordinary users.
func (s *Server) Untrusted(ctx context.Context, x Extension) (found []string, err error) {
	err = s.reading(ctx, x.Database, func(ctx context.Context, c *pgx.Conn) error {
		found, err = names(ctx, c, `
			WITH RECURSIVE versions AS MATERIALIZED (
				SELECT v.name, v.version, v.trusted, v.requires, a.installed_version, a.default_version
				FROM pg_available_extension_versions v JOIN pg_available_extensions a USING (name)),
			needed AS (
				SELECT name, trusted, requires FROM versions
				WHERE name = $1 AND version = coalesce($2, installed_version, default_version)
				UNION
				SELECT v.name, v.trusted, v.requires FROM needed n JOIN versions v ON v.name = ANY(n.requires)
				WHERE $3 AND v.installed_version IS NULL AND v.version = v.default_version)
			SELECT DISTINCT name::text FROM needed WHERE NOT trusted ORDER BY 1`, x.Name, x.Version, x.InstallDependencies)
		return err
	})
	return found, err
}

// Restricted returns the names of settings that only superusers may store, sorted: also those of libraries that are not loaded, which
// may turn out to be such. Settings that do not exist are left to Create and Update.
func (s *Server) Restricted(ctx context.Context, settings map[string]string) (found []string, err error) {
	err = s.reading(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		found, err = names(ctx, c, `
			SELECT n FROM unnest($1::text[]) n LEFT JOIN pg_settings p ON lower(p.name) = lower(n)
			WHERE p.context NOT IN ('user', 'backend') OR p.name IS NULL AND n LIKE '%.%' ORDER BY 1`,
			slices.Collect(maps.Keys(settings)))
		return err
	})
	return found, err
}

// PermitsTablespace reports whether everyone, or a role with the label that is no superuser, has privilege CREATE on the tablespace of x, or
// the template of x is there. The error is IsNotFound if the tablespace does not exist.
func (s *Server) PermitsTablespace(ctx context.Context, x Database, key, value string) (permitted bool, err error) {
	err = s.reading(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		return c.QueryRow(ctx, `SELECT has_tablespace_privilege('public', $2::text, 'CREATE') OR EXISTS (SELECT FROM pg_roles
			WHERE `+labelled("'pg_authid'")+` AND NOT rolsuper AND has_tablespace_privilege(oid, $2::text, 'CREATE')) OR EXISTS (
			SELECT FROM pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace
			WHERE t.spcname = $2::text AND d.datname = coalesce($3, 'template1'))`, labelIs(key, value), x.Tablespace, x.Template).Scan(&permitted)
	})
	return permitted, err
}
