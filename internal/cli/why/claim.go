// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// claimChecks are what is looked for with a claim, in the order in which it is told.
func (q *inquiry) claimChecks() []func() {
	return []func(){q.checkSeen, q.checkDeletion, q.checkCondition, q.checkClass, q.checkResource}
}

// checkCondition tells what the claim itself says: whoever speaks for it wrote it for its author.
func (q *inquiry) checkCondition() {
	if q.ready.Status == corev1.ConditionFalse && !meta.WasDeleted(q.object) {
		what := q.ready.Message
		if known, ok := explanationOf(string(q.ready.Reason)); ok && what == "" {
			what = known.Meaning
		}
		q.blocked(sentence(what), actionOf(string(q.ready.Reason)))
	}
	if q.failing() && !strings.EqualFold(q.synced.Message, q.ready.Message) {
		q.blocked(sentence(q.synced.Message), "")
	}
}

// checkClass looks whether the class is there, as long as that matters.
func (q *inquiry) checkClass() {
	ref, ok := inspect.Reference(q.object, "spec", "classRef")
	_, served := inspect.Reference(q.object, "spec", "resourceRef")
	switch {
	case served:
		return
	case !ok && len(q.Blockers) == 0:
		q.blocked("No class is chosen yet.", "")
	case !ok:
		return
	}
	switch r := q.cluster.Follow(q.ctx, ref, ""); {
	case r.Presence == inspect.NoKind && !q.told(ref.Kind):
		q.blocked(fmt.Sprintf("Its class is of kind %s, which the server does not have.", ref.GroupVersionKind().GroupKind()),
			"Ask your platform team whether the provider of this class is installed.")
	case r.Presence == inspect.Missing && !q.told(ref.Name):
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
		q.Notes = append(q.Notes, what+" may tell more, but you may not read it.")
		q.advise(fmt.Sprintf("Ask your platform team what this says: bowline why %s/%s", r.Kind, ref.Name))
	case r.Presence == inspect.Missing && !q.told(ref.Name):
		q.blocked(what+" does not exist.", "")
	case r.Presence == inspect.NoKind && !q.told(ref.Kind):
		q.blocked(what+" is of a kind that the server does not have.", "Ask your platform team whether its provider is installed.")
	}
}

// checkBond looks whether the managed resource that the claim names belongs to it, and explains that too unless all is well.
func (q *inquiry) checkBond(what string, r inspect.Reading) {
	ref, named := inspect.Reference(r.Object, "spec", "claimRef")
	if named && ref.UID != "" && ref.UID != q.object.GetUID() {
		if !q.told(r.Object.GetName()) {
			q.blocked(fmt.Sprintf("%s belongs to another claim: %s %s.", what, ref.Kind, inspect.Path(ref.Namespace, ref.Name)), "")
		}
		return
	}
	because := Explain(q.ctx, q.cluster, r)
	if q.State != StateFine || because.State != StateFine {
		q.Because = because
	}
}

// sentence begins with a capital and ends with a stop, as blockers do.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	text = strings.ToUpper(text[:1]) + text[1:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}
