// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// Every typed failure, every reason of a warning, and every reason why a claim waits has advice.
func TestAdvice(t *testing.T) {
	t.Parallel()
	reasons := []xpv1.ConditionReason{
		xpv1.ReasonNoMatchingClass, xpv1.ReasonAmbiguousDefaultClass, xpv1.ReasonClassNotFound, xpv1.ReasonNotAllowed,
		xpv1.ReasonLimitReached, xpv1.ReasonResourceLost, xpv1.ReasonProtected,
	}
	for _, known := range failure.Explanations() {
		reasons = append(reasons, known.Reason)
	}
	for _, known := range managed.Reasons() {
		if strings.HasPrefix(string(known.Reason), "Cannot") {
			reasons = append(reasons, xpv1.ConditionReason(known.Reason))
		}
	}
	for _, reason := range reasons {
		if got := advice(reason); got.Meaning == "" || got.Action == "" {
			t.Errorf("reason %s has meaning %q and action %q", reason, got.Meaning, got.Action)
		}
	}
	if got := advice(xpv1.ConditionReason(corev1.NamespaceActive)); got.Action != "" {
		t.Errorf("an unknown reason has action %q", got.Action)
	}
}

// The time of the next reconcile follows from the typed failure alone.
func TestNextOfManaged(t *testing.T) {
	t.Parallel()
	for reason, want := range nextOfFailure() {
		q := &inquiry{Explanation: &Explanation{State: StateFailing}, failure: xpv1.CurrentFailure{Reason: reason, Stalled: true}, synced: xpv1.ReconcileSuccess()}
		if got := q.nextOfManaged(); got != want {
			t.Errorf("%s: %q", reason, got)
		}
	}
}
