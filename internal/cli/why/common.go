// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
)

// otherChecks are what is looked for with an object of which nothing is known but what all objects have.
func (q *inquiry) otherChecks() []func() { return []func(){q.checkDeletion, q.checkConditions} }

// configChecks are what is looked for with a provider configuration.
func (q *inquiry) configChecks() []func() {
	return []func(){q.checkDeletion, q.checkConditions, func() { q.checkCredentials(q.object) }}
}

// checkConditions tells which conditions are False, except what a deletion tells better.
func (q *inquiry) checkConditions() {
	for _, c := range q.status.Conditions {
		if c.Status != corev1.ConditionFalse || c.Type == xpv1.TypeReady && meta.WasDeleted(q.object) && len(q.Blockers) > 0 {
			continue
		}
		what := fmt.Sprintf("Condition %s is False (%s)", c.Type, c.Reason)
		if c.Message != "" {
			what += ": " + strings.TrimSuffix(c.Message, ".")
		}
		q.blocked(what+".", actionOf(string(c.Reason)))
	}
}

// waitsToGo is how package managed begins to say what a deletion waits for.
const waitsToGo = "Deletion waits for "

// checkDeletion tells what keeps an object that is to be deleted: what its controller says, then each finalizer.
func (q *inquiry) checkDeletion() {
	if !meta.WasDeleted(q.object) {
		return
	}
	if strings.HasPrefix(q.synced.Message, waitsToGo) {
		q.blocked(q.synced.Message, "")
	}
	for _, f := range q.object.GetFinalizers() {
		switch f {
		case managed.Finalizer:
			q.blocked("It stays until its external resource is gone, or was let go.", "")
		case claimbinding.Finalizer:
			q.blocked("It stays until its managed resource was deleted or released.", "")
		case providerconfig.Finalizer:
			q.blocked(q.inUse(), actionOf(providerconfig.ReasonInUse))
		case providerconfig.SecretFinalizer:
			q.blocked("It stays while a ProviderConfig that is in use names it.",
				"Let the ProviderConfig name another Secret, or delete the users of it.")
		case metav1.FinalizerDeleteDependents:
			q.blocked("It stays until the objects that it owns are gone.", "")
		default:
			q.blocked(fmt.Sprintf("It stays until somebody removes finalizer %q, which is not ours.", f),
				"Find out which program looks after that finalizer, and whether it runs.")
		}
	}
}

// inUse tells what keeps a provider configuration.
func (q *inquiry) inUse() string {
	if q.ready.Message != "" {
		return sentence(q.ready.Message)
	}
	return "It stays while objects use it."
}
