// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

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
