// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgresql manages databases, roles, grants, schemas and extensions of a PostgreSQL server, 15 or later.
//
// It is the provider's SDK and independent of Kubernetes. The one idea: a type such as Database is both observed and desired
// state, and a field that is nil is unset. Get sets all fields; Create leaves unset fields to the server; Update changes the
// fields that are set and differ, so it can be repeated. Update ignores fields that PostgreSQL fixes at creation.
//
//	server, err := postgresql.New(postgresql.Config{Endpoint: "db.example.org", Username: "admin", Password: password})
//	defer server.Close()
//	created, err := postgresql.Create(ctx, server, postgresql.Database{Name: "orders", Owner: &owner})
//	if postgresql.IsExists(err) { … }
//
// Refusals of the server are *Error with an SQLSTATE; *ConnectionError means that there was no answer. Operations are not retried.
//
// # Ownership
//
// PostgreSQL has no labels, but databases, roles, schemas and extensions have a comment. Labels are stored in its last
// line: "bowline: owner=42;team=a%3Bb". Grants have no comment and no labels.
//
// # Secrets
//
// Passwords of roles are sent as SCRAM verifiers; no error contains a password or a statement. All names are quoted,
// and refused if PostgreSQL would truncate them.
//
// # Privileges
//
// The user of Config need not be a superuser: CREATEDB and CREATEROLE suffice. To give an object to another role it becomes a
// member of that role during the operation.
package postgresql
