// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import "github.com/bowline-dev/bowline/pkg/event"

// Reasons of the events that the reconciler emits. They are stable: scripts and alerts may
// rely on them. Reasons explains each.
const (
	ReasonCannotConnect    event.Reason = "CannotConnectToProvider"
	ReasonCannotInitialize event.Reason = "CannotInitializeManagedResource"
	ReasonCannotResolve    event.Reason = "CannotResolveResourceReferences"
	ReasonCannotReadInputs event.Reason = "CannotReadSecretInputs"
	ReasonInvalidPolicy    event.Reason = "CannotUseInvalidManagementPolicy"
	ReasonCannotObserve    event.Reason = "CannotObserveExternalResource"
	ReasonCannotCreate     event.Reason = "CannotCreateExternalResource"
	ReasonCannotUpdate     event.Reason = "CannotUpdateExternalResource"
	ReasonCannotDelete     event.Reason = "CannotDeleteExternalResource"
	ReasonCannotPublish    event.Reason = "CannotPublishConnectionDetails"
	ReasonCannotUpdateMR   event.Reason = "CannotUpdateManagedResource"
	ReasonCannotFill       event.Reason = "CannotLateInitializeManagedResource"
	ReasonExternalFailed   event.Reason = "ExternalResourceFailed"
	ReasonPanicked         event.Reason = "ProviderPanicked"
	ReasonDetailsLost      event.Reason = "ConnectionDetailsLost"

	ReasonCreated  event.Reason = "CreatedExternalResource"
	ReasonUpdated  event.Reason = "UpdatedExternalResource"
	ReasonDeleted  event.Reason = "DeletedExternalResource"
	ReasonDrifted  event.Reason = "ExternalResourceDrifted"
	ReasonPaused   event.Reason = "ReconcilePaused"
	ReasonDisorder event.Reason = "DeletedOutOfOrder"
)

// Reasons returns an explanation of every reason that the reconciler gives in events, the bad ones first. The page
// docs/reasons.md is made from it.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(ReasonCannotConnect, "The ProviderConfig or its credentials cannot be read, or no client can be made of them.",
			"Read the message: create the ProviderConfig or the Secret that it names, or correct providerConfigRef. The object goes on by itself."),
		event.Explain(ReasonCannotInitialize, "It is not certain which external resource belongs to the object: its creation was cut off and cannot be looked up, "+
			"or a resource of that name belongs to somebody else.",
			"For a creation that was cut off: `bowline leaks` says since when and what to look for in the external system. Delete what was left behind, "+
				"or set the annotation crossplane.io/external-name to its name, then remove the annotation crossplane.io/external-create-pending. "+
				"For a foreign resource: set the annotation crossplane.io/external-name to adopt it, or choose another name."),
		event.Explain(ReasonCannotResolve, "A field refers to another object that does not exist yet, has no external name yet, or is being deleted, or to a kind "+
			"that is not installed.",
			"Usually nothing: the object goes on within seconds of the other one, or of its kind. Else correct the reference or the labels that it "+
				"selects by."),
		event.Explain(ReasonCannotReadInputs, "A Secret that a field named ...SecretRef refers to is missing, or lacks the key.",
			"Create the Secret or the key, or correct the reference."),
		event.Explain(ReasonInvalidPolicy, "spec.managementPolicies cannot be followed: Observe is missing, or the provider does not support them.",
			"Add Observe to the list, or set it to [\"*\"]."),
		event.Explain(ReasonCannotObserve, "The external system could not be asked about the resource, or the resource is missing and must not be created.",
			"Read the message. Errors of the external system are tried again, later each time."),
		event.Explain(ReasonCannotCreate, "The external system refused to create the resource, or its answer was lost.",
			"Correct the spec if the message says what is wrong with it. A lost answer heals by itself where the resource can be found or named."),
		event.Explain(ReasonCannotUpdate, "The external system refused to change the resource.",
			"Correct the spec; a setting that cannot change needs a new object."),
		event.Explain(ReasonCannotDelete, "The external system refused to delete the resource.",
			"Remove what the message says is in the way. Deletion is tried again until the resource is gone."),
		event.Explain(ReasonCannotPublish, "The connection Secret cannot be written: its namespace is missing, or another object owns a Secret of that name.",
			"Create the namespace, or name another Secret in spec.writeConnectionSecretToRef. What the external system told only once is kept meanwhile."),
		event.Explain(ReasonCannotUpdateMR, "The API server did not take a change to the object. Where that is the status, its fields that the message names stay as "+
			"they were, and all else goes on.",
			"Usually nothing: it is tried again. If it lasts, check the rights of the controllers and admission webhooks, and that the CRD is the one "+
				"that belongs to the provider."),
		event.Explain(ReasonCannotFill, "The external system chose settings that the API server does not take into the spec: the schema or an admission policy "+
			"refuses them. All else goes on.",
			"Set the fields that the message names yourself, or leave LateInitialize out of managementPolicies. It is tried again at every poll."),
		event.Explain(ReasonExternalFailed, "The external system itself reports that something is wrong with the resource.",
			"Read the message and look into the external system."),
		event.Explain(ReasonPanicked, "The provider's code ended in a panic, which is a mistake in the provider.",
			"Report it with the stack trace, which the controllers' log has. The object is tried again, later each time; others are not concerned."),
		event.Explain(ReasonDetailsLost, "The connection Secret lost keys that were told only when the external resource was created, while no "+
			"controller watched; else they come back at once. All else goes on, and copies of a Secret that was deleted keep what "+
			"they have.",
			"Add what the message names to the Secret, from a copy of it, such as that of the claim, or after a reset in the external "+
				"system. To do without, remove the annotation bowline.dev/created-connection-keys."),
		event.Explain(ReasonDrifted, "The external resource differs from spec.forProvider, and no update settles it or updating is not permitted.",
			"See status.drift for the fields. Change the spec to what is there, permit Update, or change the external resource."),
		event.Explain(ReasonDisorder, "The external resource is deleted although objects that depend on it are not gone yet: waiting for them took too long or cannot end.",
			"Look at the objects that the message names. The external system may refuse the deletion until they are gone."),
		event.Explain(ReasonPaused, "The object is paused by the annotation crossplane.io/paused or by empty managementPolicies.",
			"Remove the annotation, or add policies, to resume."),
		event.Explain(ReasonCreated, "The external resource was created.", ""),
		event.Explain(ReasonUpdated, "The external resource was changed to match the object.", ""),
		event.Explain(ReasonDeleted, "Deletion of the external resource was requested.", ""),
	}
}
