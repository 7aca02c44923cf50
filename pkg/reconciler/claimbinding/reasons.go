// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimbinding

import (
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
)

// Reasons of events. Claims that wait or are refused have events of the reason of their condition Ready, too.
const (
	// ReasonProvisioned: a managed resource was created for the claim.
	ReasonProvisioned event.Reason = "ProvisionedManagedResource"
	// ReasonBound: claim and managed resource are bound to each other.
	ReasonBound event.Reason = "BoundManagedResource"
	// ReasonDeleted: the managed resource of a deleted claim was deleted.
	ReasonDeleted event.Reason = "DeletedManagedResource"
	// ReasonReleased: the managed resource of a deleted claim was kept.
	ReasonReleased event.Reason = "ReleasedManagedResource"
	// ReasonBadConnectionKeys: the claim's annotation bowline.dev/connection-keys has mistakes, or the connection Secret of its
	// managed resource lost keys.
	ReasonBadConnectionKeys event.Reason = "BadConnectionKeys"
	// ReasonCannotBind: a pass failed and is retried.
	ReasonCannotBind event.Reason = "CannotBindClaim"
)

// Reasons returns an explanation of every reason that claims show in condition Ready or in events, from all controllers: those first
// that keep a claim from being ready.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(xpv1.ReasonNoMatchingClass), "No class has the labels of the selector, or there is no default class.",
			"List the labels of classes: kubectl get classes --show-labels. Then correct spec.classSelector, or ask your platform "+
				"team for a class."),
		event.Explain(event.Reason(xpv1.ReasonAmbiguousDefaultClass), "There are several default classes, and the claim selects none.",
			"Select one in spec.classSelector, or ask your platform team to keep one default class."),
		event.Explain(event.Reason(xpv1.ReasonClassNotFound),
			"The class in spec.classRef does not exist, or no provider serves classes of its kind.",
			"List the classes: kubectl get classes. Then correct spec.classRef, or ask your platform team for the class."),
		event.Explain(event.Reason(xpv1.ReasonNotAllowed), "The class or the managed resource does not permit the claim's namespace.",
			"Select another one, or ask your platform team to permit your namespace."),
		event.Explain(event.Reason(xpv1.ReasonLimitReached), "The maximum number of claims uses the class.",
			"Delete a claim that is not needed, select another class, or ask your platform team to raise the limit."),
		event.Explain(event.Reason(xpv1.ReasonBinding), "The claim waits for its managed resource.", ""),
		event.Explain(event.Reason(xpv1.ReasonUnavailable), "The managed resource is not usable at the moment.", ""),
		event.Explain(event.Reason(xpv1.ReasonResourceLost), "The managed resource of the claim was deleted; it is not replaced, because "+
			"its data would be missing.", "Delete the claim and create another."),
		event.Explain(ReasonCannotBind, "A pass over the claim failed and is retried.",
			"Usually nothing. If it lasts, ask your platform team to check the log of the controllers."),
		event.Explain(ReasonBadConnectionKeys,
			"Some keys of the connection Secret are missing: a template in the annotation bowline.dev/connection-keys is invalid, or the "+
				"Secret of the managed resource lost keys. The claim's Secret has all other keys.",
			"Read the message: it names the keys."),
		event.Explain("ClassSelected", "A class was selected for the claim, by its selector or by default.", ""),
		event.Explain(ReasonProvisioned, "A managed resource was created for the claim.", ""),
		event.Explain(ReasonBound, "The claim is bound to its managed resource, which no other claim can use.", ""),
		event.Explain(ReasonDeleted, "The claim was deleted, and its managed resource too, because of the reclaim policy.", ""),
		event.Explain(ReasonReleased, "The claim was deleted, and its managed resource was kept, because of the reclaim policy.", ""),
	}
}
