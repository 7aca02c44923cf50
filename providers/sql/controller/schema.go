// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

type schemaRequest = kind.Request[v1alpha1.SchemaParameters, postgresql.Schema]

// schemas are schemas of a database.
func schemas() kind.Kind[*server, v1alpha1.SchemaParameters, v1alpha1.SchemaObservation, postgresql.Schema] {
	return kind.Kind[*server, v1alpha1.SchemaParameters, v1alpha1.SchemaObservation, postgresql.Schema]{
		Identity: kind.ByName,
		Get: func(ctx context.Context, s *server, r *schemaRequest) (*postgresql.Schema, error) {
			return s.GetSchema(ctx, r.Want.Database, r.Name)
		},
		Create: func(ctx context.Context, s *server, r *schemaRequest) (*postgresql.Schema, error) {
			return s.CreateSchema(ctx, r.Want)
		},
		Update: func(ctx context.Context, s *server, r *schemaRequest) error {
			return s.UpdateSchema(ctx, r.Want)
		},
		Delete: func(ctx context.Context, s *server, r *schemaRequest) error {
			o := postgresql.DeleteSchemaOptions{Cascade: ptr.Deref(r.Parameters.Cascade, false)}
			return s.DeleteSchema(ctx, r.Want.Database, r.Name, o)
		},
		Labels: func(s *postgresql.Schema) map[string]string { return s.Labels },
	}
}
