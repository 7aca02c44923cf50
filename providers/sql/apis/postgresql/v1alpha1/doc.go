// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 holds the managed resources of PostgreSQL servers: databases, roles, grants, schemas and extensions.
//
// zz_generated files are derived from the others.
//
// +kubebuilder:object:generate=true
// +groupName=postgresql.sql.bowline.dev
// +bowline:provider=sql
package v1alpha1
