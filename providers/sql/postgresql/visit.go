// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// databaseOwner is the role that stands for the owner of the database one is connected to.
const databaseOwner = "pg_database_owner"

// farewell is how long leaving a role may take when the caller's own time is over.
const farewell = 5 * time.Second

// visit calls f as a member of roles, those that own what f is about or shall own it. A superuser may do everything
// anyway. Other administrators, as managed services have them, are asked to be a member of a role to give it something, or
// to change what it has, and with CREATEROLE they may join it: visit does so for as long as f takes. Visits of one Server
// are made one at a time, so that none leaves a role that another relies on.
func (s *Server) visit(ctx context.Context, conn *pgx.Conn, e executor, roles []string, f func() error) (err error) {
	if conn.PgConn().ParameterStatus("is_superuser") == "on" {
		return f()
	}
	if err := s.visiting.Acquire(ctx, 1); err != nil {
		return err
	}
	defer s.visiting.Release(1)
	strangers, err := join(ctx, conn, e, roles)
	if err != nil {
		return err
	}
	err = f()
	if conn.PgConn().TxStatus() == 'E' {
		return err // The transaction is undone, and the visit with it.
	}
	return errors.Join(err, leave(ctx, e, strangers))
}

// join makes the current user a member of those of the roles that it is not, which it returns.
func join(ctx context.Context, conn *pgx.Conn, e executor, roles []string) ([]string, error) {
	strangers, err := joinable(ctx, e, roles)
	if err != nil || len(strangers) == 0 {
		return nil, err
	}
	grant := say("GRANT").names(strangers).say("TO CURRENT_USER")
	if !olderThan16(conn) {
		grant.say("WITH INHERIT TRUE, SET TRUE")
	}
	return strangers, run(ctx, e, grant)
}

// leave ends what join began, also when the caller's own time is over.
func leave(ctx context.Context, e executor, strangers []string) error {
	if len(strangers) == 0 {
		return nil
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	rows, err := e.Query(leaving, "SELECT rolname::text FROM pg_roles WHERE rolname = ANY($1) ORDER BY 1", strangers)
	if err != nil {
		return err
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string]) // A role that was deleted meanwhile must not keep us in the others.
	if err != nil || len(left) == 0 {
		return err
	}
	return run(leaving, e, say("REVOKE").names(left).say("FROM CURRENT_USER"))
}

// joinable returns those of the roles whose privileges the current user lacks but may give itself.
func joinable(ctx context.Context, e executor, roles []string) ([]string, error) {
	rows, err := e.Query(ctx, `
		SELECT r.rolname::text FROM pg_roles r, pg_roles me
		WHERE me.rolname = current_user AND NOT r.rolsuper AND r.rolname NOT LIKE 'pg\_%' AND NOT pg_has_role(r.oid, 'USAGE')
		AND r.rolname IN (SELECT CASE name WHEN $2 THEN
			(SELECT pg_get_userbyid(datdba) FROM pg_database WHERE datname = current_database()) ELSE name END
			FROM unnest($1::text[]) name)
		AND CASE WHEN current_setting('server_version_num')::int < 160000
			THEN me.rolcreaterole AND NOT pg_has_role(r.oid, 'MEMBER')
			ELSE pg_has_role(r.oid, 'MEMBER WITH ADMIN OPTION') END
		ORDER BY 1`, roles, databaseOwner)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
