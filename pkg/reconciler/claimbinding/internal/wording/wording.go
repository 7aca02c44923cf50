// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wording describes managed resources that claims wait for, in words for teams.
package wording

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// IsNameUnusable is true for the causes of an external name that cannot be used. Teams do not learn which, since that would show the
// names of others.
func IsNameUnusable(cause failure.Reason) bool {
	return cause == failure.ExternalNameTaken || cause == failure.ExternalNameReserved
}

// WhyNotReady returns why a managed resource cannot be used, from reasons and messages that are for teams (N41).
func WhyNotReady(kind string, mg resource.BindableManaged) string {
	what := fmt.Sprintf("Managed resource %s %q", kind, mg.GetName())
	ready, synced, failed := mg.GetCondition(xpv1.TypeReady), mg.GetCondition(xpv1.TypeSynced), xpv1.FailureOf(mg)
	unusable := IsNameUnusable(failed.Reason)
	if unusable {
		failed.Message = ""
	}
	switch {
	case synced.Reason == xpv1.ReasonReconcilePaused:
		return what + " is paused. Ask your platform team to resume it."
	case unusable && meta.IsExternalNameProposed(mg):
		return fmt.Sprintf("%s is not created: the external name %q, which the claim proposes, cannot be used. Delete the claim and create "+
			"it again with another name in its annotation %s, or without one.", what, meta.GetExternalName(mg), meta.AnnotationKeyExternalName)
	case failed.Reason == failure.InvalidSettings && failed.Message != "":
		return fmt.Sprintf("%s is not ready (%s): %s. If the claim sets it, delete the claim and create it again with another value; "+
			"otherwise ask your platform team.", what, failed.Reason, strings.TrimSuffix(failed.Message, "."))
	case failed.Reason != "", synced.Status == corev1.ConditionFalse:
		return what + " is not ready" + ForTeam(failed)
	case ready.Status == corev1.ConditionFalse:
		return fmt.Sprintf("%s is not ready yet (%s). Wait until it is.", what, ready.Reason)
	default:
		return what + " is not ready yet. Wait until it is."
	}
}

// ForTeam completes a sentence with a failure of a managed resource, of which the team reads the reason and the message for teams.
func ForTeam(failed xpv1.CurrentFailure) string {
	reason := ""
	if failed.Reason != "" {
		reason = fmt.Sprintf(" (%s)", failed.Reason)
	}
	if failed.Message != "" {
		return reason + ": " + failed.Message
	}
	return reason + ". Ask your platform team, which can see the cause in the conditions of the managed resource."
}
