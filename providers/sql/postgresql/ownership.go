// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// terminateTimeout is for a session to terminate, in milliseconds.
	terminateTimeout = 5000
	// largeObjects are deleted at once: each takes a lock, of which the server has a few thousand.
	largeObjects = 1000
)

// DisableLogin removes a role's LOGIN and terminates its sessions, IsNotFound if there is none. It can be repeated. Sessions are
// terminated before as well, since one may hold a lock on the role.
func (s *Server) DisableLogin(ctx context.Context, role string) error {
	return s.on(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		return s.asMember(ctx, c, c, []string{role}, func() error {
			if err := endSessions(ctx, c, role); err != nil {
				return err
			}
			if err := run(ctx, c, statement("ALTER ROLE").name(role).sql("NOLOGIN")); err != nil {
				return err
			}
			return endSessions(ctx, c, role)
		})
	})
}

func endSessions(ctx context.Context, e executor, role string) error {
	const sessions = "FROM pg_stat_activity WHERE usesysid = (SELECT oid FROM pg_roles WHERE rolname = $1)"
	var n int
	if err := e.QueryRow(ctx, "SELECT count(pg_terminate_backend(pid, $2)) "+sessions, role, terminateTimeout).Scan(&n); err != nil {
		return err
	}
	err := e.QueryRow(ctx, "SELECT count(*) "+sessions, role).Scan(&n)
	if err == nil && n > 0 {
		err = &Error{Code: codeInUse, Message: fmt.Sprintf("sessions of role %q do not terminate", role)}
	}
	return err
}

// DropOwned deletes the objects that a role owns in any database, with their dependents, and revokes its privileges on objects of
// others. It can be repeated. The error is IsNotFound if there is no such role, IsInUse, before anything is done, if it owns a database,
// whose content it would delete, and IsConflict, after all else is done, if we may not connect to a database in which it has objects or
// privileges.
func (s *Server) DropOwned(ctx context.Context, role string) error {
	return s.sequence(ctx, func(ctx context.Context, use useConn) error {
		h, err := s.footprint(ctx, use, role)
		switch {
		case err != nil || len(h.databases) == 0:
			return s.classify(ctx, s.config.Database, err)
		case len(h.own) > 0:
			return &Error{Code: codeDependentObjects, Message: fmt.Sprintf("role %q owns database %q, which is not deleted with it", role, h.own[0]),
				Hint: fmt.Sprintf("To keep it with its tables, run there REASSIGN OWNED BY %q TO another role; else drop it.", role)}
		}
		leave, err := s.joinAll(ctx, use, h.roles)
		if err != nil {
			return s.classify(ctx, s.config.Database, err)
		}
		var failures []error
		for _, database := range h.databases {
			failures = append(failures, s.dropOwnedIn(ctx, use, database, h.owners[database], role))
		}
		return errors.Join(append(failures, s.classify(ctx, s.config.Database, leave()))...)
	})
}

// A footprint is where a role has objects or privileges.
type footprint struct {
	databases []string          // the configured one comes first, if the role has shared objects
	owners    map[string]string // of databases
	own       []string          // databases that the role owns
	roles     []string          // that must be joined to drop them: the role, other owners and grantors, the owners of the databases
}

func (s *Server) footprint(ctx context.Context, use useConn, role string) (h footprint, err error) {
	err = use(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) error {
		var exists bool
		err := c.QueryRow(ctx, `
			WITH its AS (
				SELECT s.dbid, s.classid, s.objid FROM pg_shdepend s JOIN pg_roles r ON r.oid = s.refobjid
				WHERE s.refclassid = 'pg_authid'::regclass AND r.rolname = $1),
			at AS (
				SELECT DISTINCT coalesce(d.datname, current_database())::text AS name, pg_get_userbyid(d.datdba)::text AS owner
				FROM its LEFT JOIN pg_database d ON d.oid = its.dbid),
			others AS (
				SELECT r.rolname::text AS name FROM its JOIN pg_shdepend o USING (dbid, classid, objid)
				JOIN pg_roles r ON r.oid = o.refobjid WHERE o.refclassid = 'pg_authid'::regclass)
			SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1),
				ARRAY(SELECT name FROM at GROUP BY name ORDER BY name <> current_database(), name),
				ARRAY(SELECT $1::text UNION SELECT owner FROM at WHERE owner IS NOT NULL UNION SELECT name FROM others),
				(SELECT coalesce(jsonb_object_agg(name, owner) FILTER (WHERE owner IS NOT NULL), '{}') FROM at),
				ARRAY(SELECT datname::text FROM pg_database WHERE pg_get_userbyid(datdba) = $1 ORDER BY 1)`,
			role).Scan(&exists, &h.databases, &h.roles, &h.owners, &h.own)
		if err == nil && !exists {
			return notFound(codeNoObject, "role", role)
		}
		return err
	})
	return h, err
}

// joinAll is asMember for operations on several connections. The caller must call leaveAll.
func (s *Server) joinAll(ctx context.Context, use useConn, roles []string) (leaveAll func() error, err error) {
	if err := s.joining.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	var joined []string
	err = use(ctx, s.config.Database, func(ctx context.Context, c *pgx.Conn) (err error) {
		if c.PgConn().ParameterStatus("is_superuser") != "on" {
			joined, err = join(ctx, c, c, roles)
		}
		return err
	})
	if err != nil || len(joined) == 0 {
		s.joining.Release(1)
		return func() error { return nil }, err
	}
	return func() error {
		defer s.joining.Release(1)
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
		defer cancel()
		return use(leaving, s.config.Database, func(ctx context.Context, c *pgx.Conn) error { return leave(ctx, c, joined) })
	}, nil
}

// dropOwnedIn is DropOwned for one database and for shared objects.
func (s *Server) dropOwnedIn(ctx context.Context, use useConn, database, owner, role string) error {
	err := use(ctx, database, func(ctx context.Context, c *pgx.Conn) error {
		if err := unlinkAll(ctx, c, role); err != nil {
			return err
		}
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if err := run(ctx, tx, statement("DROP OWNED BY").name(role).sql("CASCADE")); err != nil {
				return err
			}
			return revokeAsOthers(ctx, tx, role)
		})
	})
	_, outside := errors.AsType[*connectError](err)
	refused, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil:
		return nil
	case database != s.config.Database && outside && answered && refused.Code == codeNoDatabase:
		return nil // the database was deleted meanwhile
	case database != s.config.Database && outside && answered:
		return &Error{
			Code: codeNotReady, Message: fmt.Sprintf("role %q has objects or privileges in a database that the provider may not connect to", role),
			Detail: fmt.Sprintf("User %q cannot connect to database %q of role %q: %s", s.config.Username, database, owner, refused.Message),
			Hint:   fmt.Sprintf("Let it connect, or run there as a superuser: DROP OWNED BY %s CASCADE;", pgx.Identifier{role}.Sanitize()),
		}
	}
	return fmt.Errorf("dropping what role %q has in database %q: %w", role, database, s.classify(ctx, database, err))
}

// unlinkAll deletes the large objects of a role in batches.
func unlinkAll(ctx context.Context, c *pgx.Conn, role string) error {
	for {
		var n int
		err := c.QueryRow(ctx, `
			SELECT count(lo_unlink(oid)) FROM (SELECT m.oid FROM pg_largeobject_metadata m JOIN pg_roles r ON r.oid = m.lomowner
			WHERE r.rolname = $1 LIMIT $2) batch`, role, largeObjects).Scan(&n)
		if err != nil || n < largeObjects {
			return err
		}
	}
}

// granted selects the privileges of a role, in this database and on shared objects, that others than the owners granted: the
// grantor, and the clause for REVOKE. It lists the privileges on a relation, since ALL would include those on its columns.
const granted = `
	SELECT DISTINCT g.rolname::text, format('%s ON %s %s', what.privileges,
		CASE its.classid WHEN 'pg_class'::regclass THEN CASE whole.type WHEN 'sequence' THEN 'SEQUENCE' ELSE 'TABLE' END
			WHEN 'pg_proc'::regclass THEN 'ROUTINE' WHEN 'pg_type'::regclass THEN 'TYPE'
			WHEN 'pg_foreign_server'::regclass THEN 'FOREIGN SERVER' ELSE upper(translate(whole.type, '-', ' ')) END, whole.identity)
	FROM pg_shdepend its JOIN pg_roles r ON r.oid = its.refobjid AND r.rolname = $1
	JOIN pg_shdepend o USING (dbid, classid, objid, objsubid, refclassid, deptype)
	JOIN pg_roles g ON g.oid = o.refobjid AND g.oid <> r.oid,
	pg_identify_object(its.classid, its.objid, 0) whole,
	LATERAL (SELECT CASE WHEN its.classid <> 'pg_class'::regclass THEN 'ALL' WHEN its.objsubid > 0 THEN
			(SELECT format('ALL (%I)', attname) FROM pg_attribute WHERE attrelid = its.objid AND attnum = its.objsubid)
		ELSE (SELECT string_agg(a.privilege_type, ', ') FROM pg_class c, aclexplode(c.relacl) a
			WHERE c.oid = its.objid AND a.grantor = g.oid AND a.grantee = r.oid) END AS privileges) what
	WHERE its.refclassid = 'pg_authid'::regclass AND its.deptype = 'a' AND what.privileges IS NOT NULL
	AND its.classid IN ('pg_database'::regclass, 'pg_namespace'::regclass, 'pg_class'::regclass, 'pg_proc'::regclass,
		'pg_type'::regclass, 'pg_language'::regclass, 'pg_largeobject'::regclass, 'pg_foreign_server'::regclass,
		'pg_foreign_data_wrapper'::regclass)
	AND its.dbid IN (0, (SELECT oid FROM pg_database WHERE datname = current_database())) ORDER BY 1, 2`

// revokeAsOthers revokes the privileges that DROP OWNED leaves: only the grantor can revoke what others than the owner granted.
func revokeAsOthers(ctx context.Context, tx pgx.Tx, role string) error {
	rows, err := tx.Query(ctx, granted, role)
	if err != nil {
		return err
	}
	type grant struct{ By, What string }
	left, err := pgx.CollectRows(rows, pgx.RowToStructByPos[grant])
	if err != nil {
		return err
	}
	for _, g := range left {
		err := pgx.BeginFunc(ctx, tx, func(nested pgx.Tx) error {
			return run(ctx, nested, statement("SET LOCAL ROLE").name(g.By),
				statement("REVOKE").sql(g.What).sql("FROM").name(role).sql("CASCADE"), statement("RESET ROLE"))
		})
		// A role that may not revoke it is not the grantor. DROP ROLE reports what is left.
		if refused, ok := errors.AsType[*pgconn.PgError](err); err != nil && (!ok || refused.Code != codeNoPrivilege) {
			return err
		}
	}
	return nil
}

// databaseOwner is the predefined role of the owner of the current database.
const databaseOwner = "pg_database_owner"

// leaveTimeout is for leaving a role after the caller's context has ended.
const leaveTimeout = 5 * time.Second

// asMember calls f as a member of roles: the present and future owners of the objects that f changes. PostgreSQL demands that of
// administrators other than superusers, and permits those with CREATEROLE to join the roles; asMember joins them for the duration
// of f. Calls on one Server are serialized, so that none leaves a role that another needs.
func (s *Server) asMember(ctx context.Context, conn *pgx.Conn, e executor, roles []string, f func() error) (err error) {
	if len(roles) == 0 || conn.PgConn().ParameterStatus("is_superuser") == "on" {
		return f()
	}
	if err := s.joining.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.joining.Release(1)
	joined, err := join(ctx, conn, e, roles)
	if err != nil {
		return err
	}
	err = f()
	if conn.PgConn().TxStatus() == 'E' {
		return err // the transaction is rolled back, and the memberships with it
	}
	return errors.Join(err, leave(ctx, e, joined))
}

// join makes the current user a member of the roles, and returns those that it joined.
func join(ctx context.Context, conn *pgx.Conn, e executor, roles []string) ([]string, error) {
	joined, err := joinable(ctx, e, roles)
	if err != nil || len(joined) == 0 {
		return nil, err
	}
	grant := statement("GRANT").names(joined).sql("TO CURRENT_USER")
	if !olderThan16(conn) {
		grant.sql("WITH INHERIT TRUE, SET TRUE")
	}
	return joined, run(ctx, e, grant)
}

// leave reverts join, also after the caller's context has ended.
func leave(ctx context.Context, e executor, joined []string) error {
	if len(joined) == 0 {
		return nil
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	// A role that was deleted meanwhile must not prevent leaving the others.
	left, err := names(leaving, e, "SELECT rolname::text FROM pg_roles WHERE rolname = ANY($1) ORDER BY 1", joined)
	if err != nil || len(left) == 0 {
		return err
	}
	return run(leaving, e, statement("REVOKE").names(left).sql("FROM CURRENT_USER"))
}

// joinable returns the roles whose privileges the current user lacks but may grant itself.
func joinable(ctx context.Context, e executor, roles []string) ([]string, error) {
	return names(ctx, e, `
		SELECT r.rolname::text FROM pg_roles r, pg_roles me
		WHERE me.rolname = current_user AND NOT r.rolsuper AND r.rolname NOT LIKE 'pg\_%' AND NOT pg_has_role(r.oid, 'USAGE')
		AND r.rolname IN (SELECT CASE name WHEN $2 THEN
			(SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()) ELSE name END
			FROM unnest($1::text[]) name)
		AND CASE WHEN current_setting('server_version_num')::int < 160000
			THEN me.rolcreaterole AND NOT pg_has_role(r.oid, 'MEMBER')
			ELSE pg_has_role(r.oid, 'MEMBER WITH ADMIN OPTION') END
		ORDER BY 1`, roles, databaseOwner)
}
