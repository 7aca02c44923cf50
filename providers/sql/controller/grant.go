// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/bowline-dev/bowline/pkg/kind"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
	"github.com/bowline-dev/bowline/providers/sql/postgresql"
)

type grantRequest = kind.Request[v1alpha1.GrantParameters, postgresql.Grant]

// grants are memberships in roles, and privileges.
func grants() kind.Kind[*server, v1alpha1.GrantParameters, v1alpha1.GrantObservation, postgresql.Grant] {
	return kind.Kind[*server, v1alpha1.GrantParameters, v1alpha1.GrantObservation, postgresql.Grant]{
		Identity: kind.ByName,
		Get: func(ctx context.Context, s *server, r *grantRequest) (*postgresql.Grant, error) {
			have, err := s.GetGrant(ctx, r.Want)
			if err == nil && have.Objects == 0 && meta.WasDeleted(r.Object) {
				return nil, nil // there are no privileges on the tables of an empty schema
			}
			return have, err
		},
		Create: func(ctx context.Context, s *server, r *grantRequest) (*postgresql.Grant, error) {
			return s.CreateGrant(ctx, r.Want)
		},
		Update: func(ctx context.Context, s *server, r *grantRequest) error {
			if len(r.Want.Privileges) == 0 { // only spec.initProvider has them: keep the present ones
				r.Want.Privileges = r.Have.Privileges
			}
			return s.UpdateGrant(ctx, r.Want)
		},
		Delete: func(ctx context.Context, s *server, r *grantRequest) error {
			return s.DeleteGrant(ctx, r.Want)
		},
	}
}
