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

type roleRequest = kind.Request[v1alpha1.RoleParameters, postgresql.Role]

// roles are roles of a PostgreSQL server.
func roles() kind.Kind[*server, v1alpha1.RoleParameters, v1alpha1.RoleObservation, postgresql.Role] {
	return kind.Kind[*server, v1alpha1.RoleParameters, v1alpha1.RoleObservation, postgresql.Role]{
		Identity: kind.ByName,
		Get: func(ctx context.Context, s *server, r *roleRequest) (*postgresql.Role, error) {
			role, err := s.GetRole(ctx, r.Name)
			if err == nil {
				role.Settings = postgresql.SpellSettings(role.Settings, r.Parameters.Settings)
			}
			return role, err
		},
		Create: func(ctx context.Context, s *server, r *roleRequest) (*postgresql.Role, error) {
			r.Want.Password = passwordOf(r)
			return s.CreateRole(ctx, r.Want)
		},
		Update: func(ctx context.Context, s *server, r *roleRequest) error {
			r.Want.Password = passwordOf(r)
			return s.UpdateRole(ctx, r.Want)
		},
		Delete: func(ctx context.Context, s *server, r *roleRequest) error {
			return s.DeleteRole(ctx, r.Name)
		},
		Labels: func(r *postgresql.Role) map[string]string { return r.Labels },
		Connection: func(s *server, r *postgresql.Role) managed.ConnectionDetails {
			return s.connectionDetails(xpv1.ResourceCredentialsSecretUserKey, r.Name)
		},
	}
}

// passwordOf is the chosen or generated password. Empty: unchanged.
func passwordOf(r *roleRequest) postgresql.Secret {
	return postgresql.Secret(r.Secrets["passwordSecretRef"])
}
