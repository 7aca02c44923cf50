// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
)

// otherChecks are the checks of an object of any kind.
func (q *inquiry) otherChecks() []func() { return []func(){q.checkDeletion, q.checkConditions} }

// configChecks are the checks of a provider configuration.
func (q *inquiry) configChecks() []func() {
	return []func(){q.checkDeletion, q.checkConditions, func() { q.checkCredentials(q.object) }}
}

// checkSeen checks whether a controller has reconciled the current object.
func (q *inquiry) checkSeen() {
	seen := q.synced.ObservedGeneration
	switch {
	case q.unseen():
		q.blocked("No controller has reconciled it yet.",
			"If it is older than some seconds, check whether the controllers run (bowline status) and have its provider.")
	case seen > 0 && seen < q.object.GetGeneration() && q.pausedBy() == "":
		q.blocked("Its last change is not reconciled yet.",
			"If this lasts, check whether the controllers run (bowline status) and keep up.")
	}
}

// checkConditions reports conditions that are False, except where a finalizer explains more about a deletion.
func (q *inquiry) checkConditions() {
	for _, c := range q.status.Conditions {
		isState := c.Type == xpv1.TypeStalled || c.Type == xpv1.TypeReconciling // False is good
		if c.Status != corev1.ConditionFalse || isState || c.Type == xpv1.TypeReady && meta.WasDeleted(q.object) && len(q.Blockers) > 0 {
			continue
		}
		cause := fmt.Sprintf("Condition %s is False (%s)", c.Type, c.Reason)
		if c.Message != "" {
			cause += ": " + c.Message
		}
		q.blocked(sentence(cause), advice(c.Reason).Action)
	}
}

// checkDeletion reports what delays a deletion: the dependents, then each finalizer.
func (q *inquiry) checkDeletion() {
	if !meta.WasDeleted(q.object) {
		return
	}
	if q.failure.Reason == failure.WaitingForDependents {
		q.blocked(sentence(q.synced.Message), "")
	}
	for _, f := range q.object.GetFinalizers() {
		switch f {
		case managed.Finalizer:
			q.blocked("It is kept until its external resource is deleted or orphaned.", "")
		case claimbinding.Finalizer:
			q.blocked("It is kept until its managed resource is deleted or released.", "")
		case providerconfig.Finalizer:
			used := advice(providerconfig.ReasonInUse)
			if q.ready.Message != "" {
				used.Meaning = q.ready.Message
			}
			q.blocked(sentence(used.Meaning), used.Action)
		case providerconfig.SecretFinalizer:
			q.blocked("It is kept while a ProviderConfig that is in use names it.",
				"Let the ProviderConfig name another Secret, or delete the users of the ProviderConfig.")
		case metav1.FinalizerDeleteDependents:
			q.blocked("It is kept until the objects that it owns are deleted.", "")
		default:
			q.blocked(fmt.Sprintf("It is kept by finalizer %q, which is not Bowline's.", f),
				"Find the program that owns this finalizer, and check whether it runs.")
		}
	}
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
