// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
)

// Reasons of events. Claims that wait or are refused have events of the reason of their condition Ready, too.
const (
	// ReasonProvisioned says that a managed resource was made for the claim.
	ReasonProvisioned event.Reason = "ProvisionedManagedResource"
	// ReasonBound says that claim and managed resource belong to each other from now on.
	ReasonBound event.Reason = "BoundManagedResource"
	// ReasonDeleted says that the managed resource of a deleted claim was deleted.
	ReasonDeleted event.Reason = "DeletedManagedResource"
	// ReasonReleased says that the managed resource of a deleted claim was kept.
	ReasonReleased event.Reason = "ReleasedManagedResource"
	// ReasonBadConnectionKeys says that the claim's annotation bowline.dev/connection-keys is not as it should be, or that the
	// connection Secret of its managed resource lost keys.
	ReasonBadConnectionKeys event.Reason = "BadConnectionKeys"
	// ReasonCannotBind says that a pass failed and is tried again.
	ReasonCannotBind event.Reason = "CannotBindClaim"
)

// Reasons returns an explanation of every reason that claims show, in condition Ready or in events, whichever controller gives
// it: those first that keep a claim from being of use.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(xpv1.ReasonNoMatchingClass), "No class has the labels that the claim asks for, or there is no default class.",
			"See which labels classes have: kubectl get classes --show-labels. Then correct spec.classSelector, or ask your platform "+
				"team for a class."),
		event.Explain(event.Reason(xpv1.ReasonAmbiguousDefaultClass), "There are several default classes, and the claim chooses none.",
			"Choose one in spec.classSelector, or ask your platform team to leave one default class."),
		event.Explain(event.Reason(xpv1.ReasonClassNotFound),
			"The class that the claim names does not exist, or nobody serves classes of its kind.",
			"See which classes there are: kubectl get classes. Then correct spec.classRef, or ask your platform team for the class."),
		event.Explain(event.Reason(xpv1.ReasonNotAllowed), "The class, or the managed resource, is not for the claim's namespace.",
			"Use another one, or ask your platform team to allow yours."),
		event.Explain(event.Reason(xpv1.ReasonLimitReached), "As many claims use the class as may.",
			"Delete a claim that is not needed, use another class, or ask your platform team to raise the limit."),
		event.Explain(event.Reason(xpv1.ReasonBinding), "The claim waits for its managed resource.", ""),
		event.Explain(event.Reason(xpv1.ReasonUnavailable), "The managed resource cannot be used at the moment.", ""),
		event.Explain(event.Reason(xpv1.ReasonResourceLost), "The managed resource of the claim is gone, and nothing is made in its place.",
			"Delete the claim and make another."),
		event.Explain(ReasonCannotBind, "A pass over the claim failed and is tried again.",
			"Usually nothing. If it lasts, ask your platform team to look into the log of the controllers."),
		event.Explain(ReasonBadConnectionKeys,
			"Keys of the connection Secret are not as they should be: the annotation bowline.dev/connection-keys cannot be followed in part, "+
				"or the Secret of the managed resource lost some. The claim's Secret has all other keys, and keeps those.",
			"Do what the message says."),
		event.Explain("ClassSelected", "The claim got its class, by its labels or by default.", ""),
		event.Explain(ReasonProvisioned, "A managed resource was made for the claim.", ""),
		event.Explain(ReasonBound, "The claim has its managed resource, and nobody else can get that.", ""),
		event.Explain(ReasonDeleted, "The managed resource of a deleted claim was deleted, as its reclaim policy says.", ""),
		event.Explain(ReasonReleased, "The managed resource of a deleted claim was kept for an administrator, as its reclaim policy says.", ""),
	}
}
