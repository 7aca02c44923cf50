// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// attempts is how many names are tried. Each is taken by chance once in fourteen million times.
const attempts = 4

// provision makes the managed resource (R257). If the process dies before the claim names it, the next pass finds it by its
// label; passes of two processes meet at its name.
func (r *Reconciler) provision(ctx context.Context, p *pass) outcome {
	if p.managed != nil {
		return next()
	}
	named := p.planned.GetName() != "" // by a configurator
	for attempt := range attempts {
		mg := p.planned.DeepCopyObject().(resource.BindableManaged)
		if !named {
			if mg.GetGenerateName() == "" {
				mg.SetGenerateName(generateName(p.claim))
			}
			mg.SetName(nameFor(mg.GetGenerateName(), p.claim.GetUID(), attempt))
		}
		err := r.client.Create(ctx, mg)
		if apierrors.IsAlreadyExists(err) {
			found := r.newManaged()
			err = r.live.Get(ctx, types.NamespacedName{Name: mg.GetName()}, found)
			if err == nil && !r.belongs(found, p.claim) && !named {
				continue
			}
			if err == nil && !r.belongs(found, p.claim) {
				return refuse(xpv1.ReasonBinding, fmt.Errorf("there is a managed resource %s %q already, which is not for this claim: "+
					"tell your platform team", r.managedKind.Kind, mg.GetName()))
			}
			if err == nil && meta.WasDeleted(found) {
				return r.dying(p, found)
			}
			mg = found
		}
		if err != nil {
			return r.notMade(p, err)
		}
		p.managed = mg
		p.note(ReasonProvisioned, fmt.Sprintf("Made managed resource %s %q.", r.managedKind.Kind, mg.GetName()))
		return next()
	}
	return fail(errors.New("every name for the managed resource is taken: give the claim another name"))
}

// notMade tells which settings of class and claim the API server refuses. Its own words repeat values, which are not for the
// author of the claim: they go to the log.
func (r *Reconciler) notMade(p *pass, err error) outcome {
	if !apierrors.IsInvalid(err) {
		return fail(fmt.Errorf("making the managed resource: %w", err))
	}
	r.log.Info("The class and the claim make a managed resource that the API server refuses", "class", p.class.GetName(),
		"namespace", p.claim.GetNamespace(), "claim", p.claim.GetName(), "error", err.Error())
	var fields []string
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Field != "" && !slices.Contains(fields, cause.Field) {
				fields = append(fields, cause.Field)
			}
		}
	}
	slices.Sort(fields)
	what := ""
	if len(fields) > 0 {
		what = " (" + strings.Join(fields, ", ") + ")"
	}
	return refuse(xpv1.ReasonBinding, fmt.Errorf("class %q and this claim together make no valid %s%s: correct the claim, or ask your "+
		"platform team to correct the class", p.class.GetName(), r.managedKind.Kind, what))
}
