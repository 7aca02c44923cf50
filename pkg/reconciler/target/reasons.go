// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
)

// Reasons of events. Targets that are refused have events of the reason of their condition Ready, too.
const (
	// ReasonConnected: the target has its Secret.
	ReasonConnected event.Reason = "Connected"
	// ReasonWithdrawn: the target's Secret was deleted, since the managed resource no longer allows it.
	ReasonWithdrawn event.Reason = "WithdrewConnectionSecret"
	// ReasonDetailsLost: the connection Secret of the managed resource lost keys.
	ReasonDetailsLost event.Reason = "ConnectionDetailsLost"
	// ReasonCannotConnect: a pass failed and is retried.
	ReasonCannotConnect event.Reason = "CannotConnectTarget"
)

// Reasons returns an explanation of every reason that targets show in condition Ready or in events: those first that keep a target
// from being ready.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(xpv1.ReasonNotAllowed), "The managed resource does not permit the target's namespace.",
			"Name another managed resource, or ask your platform team to list your namespace in its annotation "+
				"bowline.dev/allowed-namespaces."),
		event.Explain(event.Reason(xpv1.ReasonConnecting),
			"The connection Secret cannot be copied yet: the managed resource or its Secret is missing, or another Secret has the name of "+
				"the copy.", "Read the message. Reconciliation resumes automatically."),
		event.Explain(ReasonCannotConnect, "A pass over the target failed and is retried.",
			"Usually nothing. If it lasts, ask your platform team to check the log of the controllers."),
		event.Explain(ReasonDetailsLost,
			"The connection Secret of the managed resource lost keys. The target's Secret has all other keys.",
			"Read the message: it names the keys."),
		event.Explain(ReasonConnected, "The target has its Secret.", ""),
		event.Explain(ReasonWithdrawn, "The managed resource no longer permits the namespace, and the target's Secret was deleted.",
			"If you still need it, ask your platform team."),
	}
}
