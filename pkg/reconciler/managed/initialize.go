// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"

	"github.com/bowline-dev/bowline/pkg/meta"
)

// initialize chooses the external name of an object that has none, in memory: it is stored together with what must be
// stored before Create anyway (R52, R63, R77). It also finds out whether a user chose the name, which is the consent
// to adopt an external resource (N6, N24): a name that we defaulted is never stored without creation annotations, but for objects
// that only look: who lets such an object do more has seen what it looks at.
func (r *Reconciler) initialize(_ context.Context, p *pass) outcome {
	name := meta.GetExternalName(p.managed)
	proposed := meta.IsExternalNameProposed(p.managed) // by a claim, which is no consent to adopt
	if r.defaultName == nil {
		p.nameGiven = name != "" && meta.GetExternalCreatePending(p.managed).IsZero() && !proposed
		return next()
	}
	chosen := r.defaultName(p.managed)
	if name == "" {
		meta.SetExternalName(p.managed, chosen)
		return next()
	}
	p.nameGiven = (meta.GetExternalCreatePending(p.managed).IsZero() || name != chosen) && !proposed
	return next()
}
