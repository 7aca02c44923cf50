// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package postgresql manages what lives in a PostgreSQL server: databases, roles, grants, schemas and extensions.
//
// It is to the provider what a vendor's SDK is: typed operations on one server, 15 or later, that know nothing of
// Kubernetes. Its one idea: a type such as Database says how something is or shall be, and a field that is nil says
// nothing. Get fills in all fields; Create leaves what is nil to the server; Update changes what is set and differs, and
// leaves the rest alone, so it may be repeated at will. Fields that PostgreSQL fixes at creation are not looked at by Update.
//
//	server, err := postgresql.New(postgresql.Config{Endpoint: "db.example.org", Username: "admin", Password: password})
//	defer server.Close()
//	created, err := server.CreateDatabase(ctx, postgresql.Database{Name: "orders", Owner: &owner})
//	if postgresql.IsExists(err) { … }
//
// Get, Update and Delete of what does not exist return an error for which IsNotFound is true. Refusals of the server are
// *Error with an SQLSTATE; *ConnectionError means that there was no answer. Operations are tried once.
//
// # Ownership
//
// PostgreSQL has no labels, but databases, roles, schemas and extensions have a comment. Labels are kept as the last line of
// it, below what people wrote there: "bowline: owner=42;team=a%3Bb". Grants have no comment and no labels.
//
// # Secrets
//
// Passwords of roles never reach the server, which gets a verifier made by package scram; no error holds a password or a
// statement. Names of any kind are quoted, and refused where PostgreSQL would shorten them.
//
// # Privileges
//
// The user of Config need not be a superuser: CREATEDB and CREATEROLE suffice for what they allow. To give something to a
// role that it is no member of, it joins the role for as long as that takes.
package postgresql
