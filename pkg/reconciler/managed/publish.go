// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/redact"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// AnnotationKeyCreatedKeys is that of package connection.
const AnnotationKeyCreatedKeys = connection.AnnotationKeyCreatedKeys

// publish adds to the connection Secret what Observe reported, and what could not be stored before (R206, N22).
func (r *Reconciler) publish(ctx context.Context, p *pass) outcome {
	details := union(p.memory.unpublished, p.observation.ConnectionDetails)
	if len(details) == 0 {
		return flow.Next()
	}
	if err := r.write(ctx, p, details, nil); err != nil {
		return failed(ReasonCannotPublish, fmt.Errorf("publishing connection details: %w", err))
	}
	p.memory.unpublished = nil
	return flow.Next()
}

// write writes the connection Secret, and remembers it for the rest of the pass.
func (r *Reconciler) write(ctx context.Context, p *pass, details ConnectionDetails, annotations map[string]string) error {
	secret, err := r.secrets.Publish(ctx, p.managed, p.published, details, annotations)
	if err == nil {
		p.published = secret
	}
	return err
}

// rememberKeys remembers for connection.AnnotationKeyCreatedKeys which keys the creation returns, if they are published at all.
func (p *pass) rememberKeys(details ConnectionDetails) {
	if _, wanted := resource.ConnectionSecretReference(p.managed); wanted {
		p.memory.oneTimeKeys = slices.AppendSeq(p.memory.oneTimeKeys, maps.Keys(details))
	}
}

// giveDetails gives the stored connection details to a client before Observe and Update, but not for a deletion. It costs no request,
// since connection Secrets are cached.
func (r *Reconciler) giveDetails(ctx context.Context, p *pass) outcome {
	user, uses := optional[ConnectionDetailsUser](p.external)
	if !uses || meta.WasDeleted(p.managed) {
		return flow.Next()
	}
	secret, err := p.published, error(nil)
	if secret == nil {
		secret, err = r.secrets.Get(ctx, r.client, p.managed)
	}
	if resource.Ignore(connection.IsForeign, err) != nil {
		return failed(ReasonCannotPublish, fmt.Errorf("reading stored credentials: %w", err))
	}
	stored := p.memory.unpublished
	if err == nil && secret != nil {
		stored = union(secret.Data, stored)
	}
	p.ended.secrets = append(p.ended.secrets, redact.Details(stored)...)
	user.UseConnectionDetails(stored)
	return flow.Next()
}

// union returns the details of both; where both have a key, over wins.
func union(details, over ConnectionDetails) ConnectionDetails {
	all := make(ConnectionDetails, len(details)+len(over))
	maps.Copy(all, details)
	maps.Copy(all, over)
	return all
}
