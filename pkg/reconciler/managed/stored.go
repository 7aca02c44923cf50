// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// A ConnectionDetailsUser is a client whose Update may have to give the external resource once more what only the connection
// secret still knows, for example a password that was generated at creation (P65).
type ConnectionDetailsUser interface {
	// UseConnectionDetails is told before Update what the connection secret holds, or the one that the object named before:
	// nothing where there is none, or it belongs to somebody else.
	UseConnectionDetails(stored ConnectionDetails)
}

// giveDetails hands the stored connection details to the client that is about to update. It costs no request, since
// connection secrets are cached, unless the object names none any more.
func (r *Reconciler) giveDetails(ctx context.Context, p *pass) outcome {
	user, uses := optional[ConnectionDetailsUser](p.external)
	if !uses {
		return next()
	}
	stored, err := r.storedDetails(ctx, p)
	if err != nil {
		return fail(ReasonCannotPublish, fmt.Errorf("reading stored credentials: %w", err))
	}
	stored = union(stored, p.renewed)
	p.secrets = append(p.secrets, sensitiveDetails(stored)...)
	user.UseConnectionDetails(stored)
	return next()
}

func (r *Reconciler) storedDetails(ctx context.Context, p *pass) (ConnectionDetails, error) {
	have, err := p.published, error(nil)
	if have == nil {
		have, err = r.secrets.get(ctx, r.client, p.managed)
	}
	if err != nil {
		return nil, resource.Ignore(isForeign, err)
	}
	details, err := r.secrets.withRemembered(ctx, p, have)
	return union(details, p.memory.unpublished), err
}
