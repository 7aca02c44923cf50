// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
)

// Reasons of events. Targets that are refused have events of the reason of their condition Ready, too.
const (
	// ReasonConnected says that the target has its Secret.
	ReasonConnected event.Reason = "Connected"
	// ReasonWithdrawn says that the target lost its Secret, since the managed resource allows it no more.
	ReasonWithdrawn event.Reason = "WithdrewConnectionSecret"
	// ReasonDetailsLost says that the connection Secret of the managed resource lost keys.
	ReasonDetailsLost event.Reason = "ConnectionDetailsLost"
	// ReasonCannotConnect says that a pass failed and is tried again.
	ReasonCannotConnect event.Reason = "CannotConnectTarget"
)

// Reasons returns an explanation of every reason that targets show, in condition Ready or in events: those first that keep a
// target from being of use.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(xpv1.ReasonNotAllowed), "The managed resource does not let the target's namespace connect.",
			"Name another one, or ask your platform team to list your namespace in its annotation bowline.dev/allowed-namespaces."),
		event.Explain(event.Reason(xpv1.ReasonConnecting),
			"There is nothing to copy yet, or no place for it: the message says whether the managed resource, its connection Secret or "+
				"the name of yours is the matter.", "Do what the message says. The target goes on by itself."),
		event.Explain(ReasonCannotConnect, "A pass over the target failed and is tried again.",
			"Usually nothing. If it lasts, ask your platform team to look into the log of the controllers."),
		event.Explain(ReasonDetailsLost,
			"The connection Secret of the managed resource lost keys. The target's Secret has all others, and keeps those that it has.",
			"Do what the message says."),
		event.Explain(ReasonConnected, "The target has its Secret.", ""),
		event.Explain(ReasonWithdrawn, "The managed resource lets the namespace connect no more, and the target's Secret is gone.",
			"If you still need it, ask your platform team."),
	}
}
