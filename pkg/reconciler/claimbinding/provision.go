// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// attempts is how many names are tried. One in fourteen million is taken by chance.
const attempts = 4

// provision creates the managed resource (R257). If the process dies before the claim names it, the next pass finds it by its
// label; two processes meet at its name (N11).
func (r *Reconciler) provision(ctx context.Context, p *pass) flow.Outcome {
	if p.managed != nil {
		return flow.Next()
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
				return flow.RejectedAs(xpv1.ReasonBinding, fmt.Errorf("managed resource %s %q exists already and does not belong to this claim: "+
					"ask your platform team", r.managedKind.Kind, mg.GetName()))
			}
			if err == nil && meta.WasDeleted(found) {
				return r.awaitDeletion(found)
			}
			mg = found
		}
		if err != nil {
			return r.notCreated(p, err)
		}
		p.managed = mg
		p.Note(ReasonProvisioned, fmt.Sprintf("Created managed resource %s %q.", r.managedKind.Kind, mg.GetName()))
		return flow.Next()
	}
	return fail("naming the managed resource", errors.New("every name is taken"))
}

// notCreated names the settings of class and claim that the API server refuses. Its message repeats values that are not for the
// team, and is logged.
func (r *Reconciler) notCreated(p *pass, err error) flow.Outcome {
	if !apierrors.IsInvalid(err) {
		return fail("creating the managed resource", err)
	}
	r.log.Info("The API server refuses the managed resource of class and claim", "class", p.class.GetName(),
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
	return flow.RejectedAs(xpv1.ReasonBinding, fmt.Errorf("class %q and this claim together are no valid %s%s: correct the claim, or ask your "+
		"platform team to correct the class", p.class.GetName(), r.managedKind.Kind, what))
}

// As the API server appends characters to a generateName: it shortens the base, and avoids vowels, which could spell words.
const (
	suffixLength   = 5
	mostBaseLength = 63 - suffixLength
	suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
)

// isName is true for what can be the name of a managed resource. The client refuses anything else with an error that would be
// retried forever.
func isName(name string) bool { return len(validation.IsDNS1123Subdomain(name)) == 0 }

// nameFor returns a name as the API server would complete it (P2), and the same one for the same claim and attempt, so that a second
// try finds what exists (R268). Further attempts are for the rare case that two claims get the same name.
func nameFor(generateName string, claim types.UID, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", claim, attempt))
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = suffixAlphabet[int(sum[i])%len(suffixAlphabet)]
	}
	return generateName[:min(len(generateName), mostBaseLength)] + string(suffix)
}
