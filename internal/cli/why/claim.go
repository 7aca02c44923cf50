// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// claimChecks are the checks of a claim, in the order of the output.
func (q *inquiry) claimChecks() []func() {
	return []func(){q.checkSeen, q.checkDeletion, q.checkClaimConditions, q.checkClass, q.checkResource}
}

// checkClaimConditions reports the claim's own messages, which are written for its author.
func (q *inquiry) checkClaimConditions() {
	if q.ready.Status == corev1.ConditionFalse && !meta.WasDeleted(q.object) {
		known, cause := advice(q.ready.Reason), q.ready.Message
		if cause == "" {
			cause = known.Meaning
		}
		q.blocked(sentence(cause), known.Action)
	}
	if q.failing() {
		q.blocked(sentence(q.synced.Message), "")
	}
}

// checkClass checks whether the class exists, until the claim has a managed resource.
func (q *inquiry) checkClass() {
	ref, ok := inspect.Reference(q.object, "spec", "classRef")
	_, provisioned := inspect.Reference(q.object, "spec", "resourceRef")
	switch {
	case provisioned, q.ready.Reason == xpv1.ReasonClassNotFound: // which names the class
		return
	case !ok && len(q.Blockers) == 0:
		q.blocked("No class is chosen yet.", "")
	case !ok:
		return
	}
	switch r := q.cluster.Follow(q.ctx, ref, ""); r.Presence {
	case inspect.NoKind:
		q.blocked(fmt.Sprintf("Its class is of kind %s, which the server does not have.", ref.GroupVersionKind().GroupKind()),
			"Ask your platform team whether the provider of this class is installed.")
	case inspect.Missing:
		q.blocked(fmt.Sprintf("Class %s %q does not exist.", ref.Kind, ref.Name), "")
	}
}

// checkResource follows the claim to its managed resource.
func (q *inquiry) checkResource() {
	ref, ok := inspect.Reference(q.object, "spec", "resourceRef")
	if !ok {
		return
	}
	r := q.cluster.Follow(q.ctx, ref, q.Namespace)
	what := fmt.Sprintf("Managed resource %s %q", ref.Kind, ref.Name)
	switch {
	case r.Presence == inspect.Present:
		q.checkBond(what, r)
	case r.Presence == inspect.NoAccess && q.State != StateFine:
		q.Notes = append(q.Notes, "You may not read m"+what[1:]+", which may have more information.")
		q.advise(fmt.Sprintf("Ask your platform team for the output of: bowline why %s/%s", r.Kind, ref.Name))
	case r.Presence == inspect.Missing && q.ready.Reason != xpv1.ReasonResourceLost:
		q.blocked(what+" does not exist.", "")
	case r.Presence == inspect.NoKind:
		q.blocked(what+" is of a kind that the server does not have.", "Ask your platform team whether its provider is installed.")
	}
}

// checkBond checks whether the managed resource belongs to the claim, and explains it unless all is well.
func (q *inquiry) checkBond(what string, r inspect.Reading) {
	ref, named := inspect.Reference(r.Object, "spec", "claimRef")
	if named && ref.UID != "" && ref.UID != q.object.GetUID() {
		if q.ready.Reason != xpv1.ReasonNotAllowed { // which reports it
			q.blocked(fmt.Sprintf("%s belongs to another claim: %s %s.", what, ref.Kind, inspect.Path(ref.Namespace, ref.Name)), "")
		}
		return
	}
	because := Explain(q.ctx, q.cluster, r)
	if q.State != StateFine || because.State != StateFine {
		q.Because = because
	}
}

// nextOfClaim tells when a claim is reconciled again.
func (q *inquiry) nextOfClaim() string {
	needPerson := []xpv1.ConditionReason{xpv1.ReasonNoMatchingClass, xpv1.ReasonAmbiguousDefaultClass, xpv1.ReasonClassNotFound}
	switch {
	case q.State == StateFine:
		return ""
	case q.State == StateDeleting:
	case q.ready.Reason == xpv1.ReasonResourceLost:
		return "Not automatically: a lost managed resource is not created again."
	case q.ready.Reason == xpv1.ReasonLimitReached:
		return "As soon as another claim of the class is deleted, or the limit is raised."
	case q.failure.Stalled, slices.Contains(needPerson, q.ready.Reason):
		return "As soon as a person corrects the cause."
	case q.failing():
		return "Automatically, with backoff."
	}
	return "As soon as the cause changes."
}
