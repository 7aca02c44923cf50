// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
)

// Reasons returns an explanation of every reason that claims show in condition Ready or in events, from all controllers: those first
// that keep a claim from being ready.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(xpv1.ReasonNoMatchingClass), "No class has the labels of the selector, there is no default class, or no provider has classes for such claims.",
			"Read the message. List the labels of classes: kubectl get classes --show-labels. Then correct spec.classSelector, or ask "+
				"your platform team for a class, or for a provider that has some."),
		event.Explain(event.Reason(xpv1.ReasonAmbiguousDefaultClass), "There are several default classes, and the claim selects none.",
			"Select one in spec.classSelector, or ask your platform team to keep one default class."),
		event.Explain(event.Reason(xpv1.ReasonClassNotFound),
			"The class in spec.classRef does not exist, or no provider serves classes of its kind.",
			"List the classes: kubectl get classes. Then correct spec.classRef, or ask your platform team for the class."),
		event.Explain(event.Reason(xpv1.ReasonResourceNotFound), "No provider has managed resources of the kind in spec.resourceRef for such "+
			"claims.", "Delete the claim and create it again with a managed resource, or with a class."),
		event.Explain(event.Reason(xpv1.ReasonNotAllowed), "The class or the managed resource does not permit the claim's namespace.",
			"Read the message: create the claim again with another class or managed resource, or ask your platform team to permit your "+
				"namespace. A claim whose deletion waits for this reason has an annotation that the message names."),
		event.Explain(event.Reason(xpv1.ReasonLimitReached), "The maximum number of claims uses the class.",
			"Delete a claim that is not needed, select another class, or ask your platform team to raise the limit."),
		event.Explain(event.Reason(xpv1.ReasonBinding), "The claim waits for its managed resource.", ""),
		event.Explain(event.Reason(failure.ConnectionSecretUnavailable), "The Secret of the claim cannot be created: another Secret has its "+
			"name, or a quota is used up.", "Read the message. Reconciliation resumes automatically."),
		event.Explain(event.Reason(xpv1.ReasonUnavailable), "The managed resource is not usable at the moment.", ""),
		event.Explain(event.Reason(xpv1.ReasonResourceLost), "The managed resource of the claim, or its external resource with the data, "+
			"was deleted; it is not replaced, because its data would be missing.", "If the managed resource was deleted, delete the claim and "+
			"create another. If the external resource was, ask your platform team to restore it, or to permit an empty one."),
		event.Explain(event.Reason(xpv1.ReasonResourceInUse), "The claim was deleted, but a ProviderConfig uses the connection Secret of its managed "+
			"resource, which is therefore not deleted.", "Ask your platform team, which can see what uses it."),
		event.Explain(event.Reason(xpv1.ReasonProtected), "The claim was deleted, but its managed resource is protected from deletion by the "+
			"annotation bowline.dev/protect.", "Read the message: ask your platform team to permit the deletion, or to keep the data."),
		event.Explain(claimbinding.ReasonCannotBind, "A pass over the claim failed and is retried. If a claim was ready, Ready is Unknown meanwhile.",
			"Usually nothing. If it lasts, ask your platform team to check the log of the controllers."),
		event.Explain(event.Reason(failure.BadConnectionKeys),
			"A template in the annotation bowline.dev/connection-keys is invalid. The claim is not ready; its Secret has all other keys.",
			"Read the message: it names the keys."),
		event.Explain(event.Reason(failure.ConnectionDetailsLost), "The connection Secret of the managed resource lost keys. Ready is False if "+
			"the claim's Secret lacks them too.", "Read the message: it names the keys. Ask your platform team, which can see what to do."),
		event.Explain("ClassSelected", "A class was selected for the claim, by its selector or by default.", ""),
		event.Explain(claimbinding.ReasonProvisioned, "A managed resource was created for the claim.", ""),
		event.Explain(claimbinding.ReasonBound, "The claim is bound to its managed resource, which no other claim can use.", ""),
		event.Explain(claimbinding.ReasonDeleted, "The claim was deleted, and its managed resource too, because of the reclaim policy.", ""),
		event.Explain(claimbinding.ReasonReleased, "The claim was deleted, and its managed resource was kept, because of the reclaim policy. As "+
			"a warning about a managed resource: the claim is gone because its finalizer was removed by force.", "Decide what becomes of "+
			"what was kept: bowline orphans list --help."),
	}
}
