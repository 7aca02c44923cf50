// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

type databaseRequest = kind.Request[v1alpha1.DatabaseParameters, postgresql.Database]

// databases are databases of a PostgreSQL server.
func databases() kind.Kind[*server, v1alpha1.DatabaseParameters, v1alpha1.DatabaseObservation, postgresql.Database] {
	return kind.Kind[*server, v1alpha1.DatabaseParameters, v1alpha1.DatabaseObservation, postgresql.Database]{
		Identity: kind.ByName,
		Get: func(ctx context.Context, s *server, r *databaseRequest) (*postgresql.Database, error) {
			d, err := s.GetDatabase(ctx, r.Name)
			if err != nil {
				return nil, err
			}
			return d, spellDatabase(ctx, s, d, &r.Parameters)
		},
		Create: func(ctx context.Context, s *server, r *databaseRequest) (*postgresql.Database, error) {
			return s.CreateDatabase(ctx, r.Want)
		},
		Update: func(ctx context.Context, s *server, r *databaseRequest) error {
			return s.UpdateDatabase(ctx, r.Want)
		},
		Delete: func(ctx context.Context, s *server, r *databaseRequest) error {
			return s.DeleteDatabase(ctx, r.Name, postgresql.DeleteDatabaseOptions{Force: true})
		},
		Labels: func(d *postgresql.Database) map[string]string { return d.Labels },
		Connection: func(s *server, d *postgresql.Database) managed.ConnectionDetails {
			return s.connectionDetails(xpv1.ResourceCredentialsSecretDatabaseKey, d.Name)
		},
	}
}

// spellDatabase converts settings and encoding to the user's spelling of the same values.
func spellDatabase(ctx context.Context, s *server, d *postgresql.Database, p *v1alpha1.DatabaseParameters) error {
	d.Settings = postgresql.SpellSettings(d.Settings, p.Settings)
	if p.Encoding == nil {
		return nil
	}
	same, err := s.SameEncoding(ctx, *d.Encoding, *p.Encoding)
	if same {
		d.Encoding = p.Encoding
	}
	return err
}
