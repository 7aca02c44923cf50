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
	strangers, err := joinable(ctx, e, roles)
	if err != nil || len(strangers) == 0 {
		return errors.Join(err, unless(err, f))
	}
	join := say("GRANT").names(strangers).say("TO CURRENT_USER")
	if !olderThan16(conn) {
		join.say("WITH INHERIT TRUE, SET TRUE")
	}
	if err := run(ctx, e, join); err != nil {
		return err
	}
	err = f()
	if conn.PgConn().TxStatus() == 'E' {
		return err // The transaction is undone, and the visit with it.
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	return errors.Join(err, run(leaving, e, say("REVOKE").names(strangers).say("FROM CURRENT_USER")))
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

func unless(err error, f func() error) error {
	if err != nil {
		return nil
	}
	return f()
}
