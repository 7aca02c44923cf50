// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/copies"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// locate finds the connection Secret of the managed resource (R301). Where that is, is nothing that messages tell.
func (r *Reconciler) locate(ctx context.Context, p *pass) outcome {
	ref := p.target.GetResourceReference()
	if _, wanted := resource.ConnectionSecretReference(p.managed); !wanted {
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q does not publish how to connect to it: ask your platform team "+
			"to set its spec.writeConnectionSecretToRef", ref.Kind, ref.Name))
	}
	source, err := copies.Source(ctx, r.client, p.managed)
	if err != nil {
		return fail(err)
	}
	if source == nil {
		return refuse(xpv1.ReasonConnecting, fmt.Errorf("managed resource %s %q has published no connection details yet: wait until it does; "+
			"if it lasts, ask your platform team", ref.Kind, ref.Name))
	}
	p.source = source
	return next()
}
