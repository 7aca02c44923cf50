// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
)

// database is the one that clients are told to open. Its owner can rename or close it.
const database = "postgres"

const loginTimeout = 2 * time.Second

// SQLSTATEs of refused logins. That of a class has two characters.
const (
	invalidAuthorization = "28"
	tooManyConnections   = "53300"
	noDatabase           = "3D000"
	closedDatabase       = "55000"
	operatorIntervention = "57" // such as starting, stopping and recovering
)

// check logs in as clients do, with their role and to their database, but without the password, which they may change. A server without a
// free connection serves those that have one.
func (d *driver) check(ctx context.Context, s *host.Server) error {
	file, err := readPidFile(d.Data())
	if err != nil {
		return err
	}
	if file.pid != s.Pid() || !file.ready { // another server may use the folder
		return errors.New("the server is starting")
	}
	session, err := d.logIn(ctx, s, nil)
	if answer, answered := errors.AsType[*pgconn.PgError](err); answered {
		return faultOf(answer)
	}
	if err != nil {
		return err
	}
	defer session.Close(ctx) // It has changed nothing.
	if session.ParameterStatus("is_superuser") == "on" {
		return d.checkDatabase(ctx, session)
	}
	return &host.Fault{Cause: fmt.Sprintf("role %[1]s is not a superuser, so that the server cannot be administered: run \"alter role %[1]s superuser\" "+
		"as another superuser, or if there is none, while the cloud is stopped, in postgres --single -D instances/%[2]s/data %[3]s",
		username, filepath.Base(d.Path), database)}
}

// faultOf returns what the refusal of a login means: nil if clients that have a connection can use the server.
func faultOf(answer *pgconn.PgError) error {
	advice := "see the log of the server, and whether its disk is full"
	switch {
	case answer.Code == tooManyConnections:
		return nil
	case strings.HasPrefix(answer.Code, operatorIntervention):
		return answer
	case answer.Code == noDatabase:
		advice = fmt.Sprintf("in another database, run: alter database FORMER_NAME rename to %[1]s; if it was dropped, restore a backup, or run: "+
			"create database %[1]s, and read what the instance reports then", database)
	case answer.Code == closedDatabase:
		advice = "in another database, run: alter database " + database + " allow_connections true"
	case strings.HasPrefix(answer.Code, invalidAuthorization):
		advice = fmt.Sprintf("as another superuser, run: alter role %[1]s login, or if it has another name: alter role FORMER_NAME rename to %[1]s",
			username)
	}
	return &host.Fault{Cause: fmt.Sprintf("the server lets role %s not log in to database %s: %s; %s", username, database, answer.Message, advice)}
}
