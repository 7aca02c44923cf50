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

type extensionRequest = kind.Request[v1alpha1.ExtensionParameters, postgresql.Extension]

// extensions are extensions that are installed in a database.
func extensions() kind.Kind[*server, v1alpha1.ExtensionParameters, v1alpha1.ExtensionObservation, postgresql.Extension] {
	return kind.Kind[*server, v1alpha1.ExtensionParameters, v1alpha1.ExtensionObservation, postgresql.Extension]{
		Identity: kind.ByName,
		Get: func(ctx context.Context, s *server, r *extensionRequest) (*postgresql.Extension, error) {
			return s.GetExtension(ctx, r.Want.Database, r.Name)
		},
		Create: func(ctx context.Context, s *server, r *extensionRequest) (*postgresql.Extension, error) {
			return s.CreateExtension(ctx, r.Want)
		},
		Update: func(ctx context.Context, s *server, r *extensionRequest) error {
			return s.UpdateExtension(ctx, r.Want)
		},
		Delete: func(ctx context.Context, s *server, r *extensionRequest) error {
			o := postgresql.DeleteExtensionOptions{Cascade: ptr.Deref(r.Parameters.Cascade, false)}
			return s.DeleteExtension(ctx, r.Want.Database, r.Name, o)
		},
		Labels: func(x *postgresql.Extension) map[string]string { return x.Labels },
	}
}
