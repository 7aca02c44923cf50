// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"fmt"
	"strings"

	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A SeveralError is that several external resources have the ownership label of one object (N88).
type SeveralError struct {
	Label string
	Names []string
}

func (e *SeveralError) Error() string {
	return fmt.Sprintf("several have label %s: %s: delete all but one there", e.Label, strings.Join(e.Names, ", "))
}

// Search asks the external system which resource has the ownership label of the object, whatever its external name is. It returns the name
// of that, empty for none, and a SeveralError for several (N88). can is false for kinds that cannot be searched. It
// writes nothing, neither to the API server nor to the external system. The object is the caller's and stays as it is.
func (r *Reconciler) Search(ctx context.Context, mg resource.Managed) (name string, can bool, err error) {
	p, err := r.newPass(mg, &record{}, 0)
	if err != nil {
		return "", false, err
	}
	p.planning = true
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.disconnect(ctx, p)
	o := r.run(r.connect, func(ctx context.Context, p *pass) outcome {
		find := finderOf(p.external)
		if can = find != nil && r.defaultName == nil; !can {
			return flow.Next()
		}
		if name, err = read(ctx, r, verbFind, p, find); err != nil {
			return lookupFailed(err)
		}
		return flow.Next()
	})(ctx, p)
	if o.Err == nil {
		return name, can, nil
	}
	detached, done := detach(ctx)
	defer done()
	return "", can, r.redact(detached, p, o.Err)
}
