// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the managed resources of PostgreSQL servers: databases, roles, grants, schemas and extensions.
//
// The files named after the kinds are written by hand; zz_generated files are derived from them.
//
// +kubebuilder:object:generate=true
// +groupName=postgresql.sql.bowline.dev
// +bowline:provider=sql
package v1alpha1
