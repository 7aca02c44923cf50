// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"slices"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
)

// explanationOf returns what a reason means and what to do about it.
func explanationOf(reason string) (event.Explanation, bool) {
	for _, known := range slices.Concat(managed.Reasons(), claimbinding.Reasons(), target.Reasons(), configReasons()) {
		if string(known.Reason) == reason {
			return known, true
		}
	}
	return event.Explanation{}, false
}

// actionOf returns what to do about a reason, empty for nothing.
func actionOf(reason string) string {
	known, _ := explanationOf(reason)
	return known.Action
}

// configReasons are the reasons of provider configurations, which say themselves what is wrong in particular.
func configReasons() []event.Explanation {
	of := func(r xpv1.ConditionReason, meaning, action string) event.Explanation {
		return event.Explanation{Reason: event.Reason(r), Meaning: meaning, Action: action}
	}
	return []event.Explanation{
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
		"choosing credentials in place of lost ones: ":           managed.ReasonCannotUpdate,
		"looking for what the connection secret lacks: ":         managed.ReasonCannotPublish,
		"secret ":                                       managed.ReasonDetailsLost,
		"publishing connection details: ":               managed.ReasonCannotPublish,
		"reading stored credentials: ":                  managed.ReasonCannotPublish,
		"storing the credentials of the new resource: ": managed.ReasonCannotPublish,
		"adding the finalizer: ":                        managed.ReasonCannotUpdateMR,
		"removing the finalizer: ":                      managed.ReasonCannotUpdateMR,
		"recording ":                                    managed.ReasonCannotUpdateMR,
		"storing the spec: ":                            managed.ReasonCannotUpdateMR,
		"late initialization: ":                         managed.ReasonCannotUpdateMR,
		"the schema of this kind refuses ":              managed.ReasonCannotUpdateMR,
		"the provider's code panicked":                  managed.ReasonPanicked,
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
