// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"slices"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
)

// advice explains a reason: what it means and what to do about it. It is zero for an unknown reason.
func advice(reason xpv1.ConditionReason) event.Explanation {
	for _, e := range failure.Explanations() {
		if e.Reason == reason {
			return explain(e.Reason, e.Meaning, e.Action)
		}
	}
	for _, e := range slices.Concat(managed.Reasons(), claimbinding.Reasons(), target.Reasons(), configReasons()) {
		if xpv1.ConditionReason(e.Reason) == reason {
			return e
		}
	}
	return event.Explanation{}
}

// configReasons explains the reasons of provider configurations.
func configReasons() []event.Explanation {
	return []event.Explanation{
		explain(providerconfig.ReasonInUse, "Objects use the configuration.", "Delete its users, or let them name another configuration."),
		explain(providerconfig.ReasonUsersUnknown, "The users of the configuration cannot be listed.",
			"Read the message. Usually a kind is installed that cannot be listed."),
		explain(providerconfig.ReasonCannotRelease, "No object uses the configuration, but its finalizer, or that of its Secret, cannot be removed.",
			"Read the message. Usually the controllers lack a right."),
	}
}

func explain(reason xpv1.ConditionReason, meaning, action string) event.Explanation {
	return event.Explanation{Reason: event.Reason(reason), Meaning: meaning, Action: action}
}

// nextOfFailure tells when a managed resource is reconciled again, for failures that are not simply retried with backoff.
func nextOfFailure() map[xpv1.ConditionReason]string {
	const calls = "As soon as calls to the external system are allowed again."
	return map[xpv1.ConditionReason]string{
		failure.CreateInterrupted:         "Not automatically: manual intervention is needed.",
		failure.WaitingForReferences:      "As soon as the object that it refers to can be used.",
		failure.ExternalSystemUnreachable: calls,
		failure.ExternalSystemThrottled:   calls,
		failure.ExternalSystemRefused:     "As soon as the credentials change, and at intervals without a change.",
	}
}
