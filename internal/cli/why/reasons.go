// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
)

// explanationOf returns what a reason means and what to do about it.
func explanationOf(reason string) (managed.Explanation, bool) {
	for _, known := range append(managed.Reasons(), otherReasons()...) {
		if string(known.Reason) == reason {
			return known, true
		}
	}
	return managed.Explanation{}, false
}

// actionOf returns what to do about a reason, empty for nothing.
func actionOf(reason string) string {
	known, _ := explanationOf(reason)
	return known.Action
}

// otherReasons are the reasons of claims and of provider configurations, which say themselves what is wrong in particular.
func otherReasons() []managed.Explanation {
	of := func(r xpv1.ConditionReason, meaning, action string) managed.Explanation {
		return managed.Explanation{Reason: event.Reason(r), Meaning: meaning, Action: action}
	}
	return []managed.Explanation{
		of(xpv1.ReasonNoMatchingClass, "No class has the labels that the claim asks for, or there is no default class.",
			"See which labels classes have: kubectl get classes --show-labels. Then correct spec.classSelector, or ask your platform team "+
				"for a class."),
		of(xpv1.ReasonAmbiguousDefaultClass, "There are several default classes, and the claim chooses none.",
			"Choose one in spec.classSelector, or ask your platform team to leave one default class."),
		of(xpv1.ReasonClassNotFound, "The class that the claim names does not exist, or nobody serves classes of its kind.",
			"See which classes there are: kubectl get classes. Then correct spec.classRef, or ask your platform team for the class."),
		of(xpv1.ReasonNotAllowed, "The class, or the managed resource, is not for the claim's namespace.",
			"Use another one, or ask your platform team to allow yours."),
		of(xpv1.ReasonLimitReached, "As many claims use the class as may.",
			"Delete a claim that is not needed, use another class, or ask your platform team to raise the limit."),
		of(xpv1.ReasonBinding, "The claim waits for its managed resource.", ""),
		of(xpv1.ReasonUnavailable, "The managed resource cannot be used at the moment.", ""),
		of(xpv1.ReasonResourceLost, "The managed resource of the claim is gone, and nothing is made in its place.",
			"Delete the claim and make another."),
		{Reason: claimbinding.ReasonCannotBind, Meaning: "A pass over the claim failed and is tried again.",
			Action: "Usually nothing. If it lasts, ask your platform team to look into the log of the controllers."},
		of(providerconfig.ReasonInUse, "Objects use the configuration.", "Delete its users, or let them name another configuration."),
		of(providerconfig.ReasonUsersUnknown, "It cannot be found out whether objects use the configuration.",
			"Read the message: usually a kind is installed that cannot be listed."),
		of(providerconfig.ReasonCannotRelease, "No object uses the configuration, but it or its Secret cannot be let go.",
			"Read the message: usually the controllers lack a right."),
	}
}

// beginnings tell the reason of an error by how package managed begins its message: events, which have the reason, are gone
// after an hour, while a condition stays.
func beginnings() map[string]event.Reason {
	return map[string]event.Reason{
		"connecting to the provider: ":                           managed.ReasonCannotConnect,
		"cannot determine creation result":                       managed.ReasonCannotInitialize,
		"looking for the result of an interrupted creation: ":    managed.ReasonCannotInitialize,
		"looking for what an interrupted creation left behind: ": managed.ReasonCannotInitialize,
		"external resource ":                                     managed.ReasonCannotInitialize,
		"resolving references: ":                                 managed.ReasonCannotResolve,
		"reading spec.forProvider.":                              managed.ReasonCannotReadInputs,
		"managementPolicies ":                                    managed.ReasonInvalidPolicy,
		"observing the external resource: ":                      managed.ReasonCannotObserve,
		"the external resource does not exist":                   managed.ReasonCannotObserve,
		"the external resource is not as it should be: ":         managed.ReasonExternalFailed,
		"creating the external resource: ":                       managed.ReasonCannotCreate,
		"laying initProvider under forProvider: ":                managed.ReasonCannotCreate,
		"taking initProvider away again: ":                       managed.ReasonCannotCreate,
		"choosing credentials: ":                                 managed.ReasonCannotCreate,
		"the provider created a resource without saying":         managed.ReasonCannotCreate,
		"updating the external resource: ":                       managed.ReasonCannotUpdate,
		"deleting the external resource: ":                       managed.ReasonCannotDelete,
		"looking for objects that ":                              managed.ReasonCannotDelete,
		"publishing connection details: ":                        managed.ReasonCannotPublish,
		"reading stored credentials: ":                           managed.ReasonCannotPublish,
		"storing the credentials of the new resource: ":          managed.ReasonCannotPublish,
		"adding the finalizer: ":                                 managed.ReasonCannotUpdateMR,
		"removing the finalizer: ":                               managed.ReasonCannotUpdateMR,
		"recording ":                                             managed.ReasonCannotUpdateMR,
		"storing the spec: ":                                     managed.ReasonCannotUpdateMR,
		"late initialization: ":                                  managed.ReasonCannotUpdateMR,
		"the schema of this kind refuses ":                       managed.ReasonCannotUpdateMR,
		"the provider's code panicked":                           managed.ReasonPanicked,
	}
}

// reasonOf returns the reason of an error message, empty if it cannot be told.
func reasonOf(message string) string {
	for beginning, reason := range beginnings() {
		if strings.HasPrefix(message, beginning) {
			return string(reason)
		}
	}
	return ""
}
