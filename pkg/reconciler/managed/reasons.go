// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import "github.com/bowline-dev/bowline/pkg/event"

// Reasons of the events that the reconciler emits (section 9.1 of the contract). They are stable: scripts and alerts may
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

	ReasonCreated  event.Reason = "CreatedExternalResource"
	ReasonUpdated  event.Reason = "UpdatedExternalResource"
	ReasonDeleted  event.Reason = "DeletedExternalResource"
	ReasonDrifted  event.Reason = "ExternalResourceDrifted"
	ReasonPaused   event.Reason = "ReconcilePaused"
	ReasonDisorder event.Reason = "DeletedOutOfOrder"
)

// An Explanation says what a reason means and what a person can do about it.
type Explanation struct {
	Reason event.Reason
	// Meaning of the reason.
	Meaning string
	// Action that helps; empty where none is called for.
	Action string
}

// Reasons returns an explanation of every reason that the reconciler gives in events, the bad ones first. The page
// docs/reasons.md is made from it.
func Reasons() []Explanation {
	return []Explanation{
		{ReasonCannotConnect, "The ProviderConfig or its credentials cannot be read, or no client can be made of them.",
			"Read the message: create the ProviderConfig or the Secret that it names, or correct providerConfigRef. The object goes on by itself."},
		{ReasonCannotInitialize, "It is not certain which external resource belongs to the object: its creation was cut off and cannot be looked up, " +
			"or a resource of that name belongs to somebody else.",
			"For a creation that was cut off: `bowline leaks` says since when and what to look for in the external system. Delete what was left behind, " +
				"or set the annotation crossplane.io/external-name to its name, then remove the annotation crossplane.io/external-create-pending. " +
				"For a foreign resource: set the annotation crossplane.io/external-name to adopt it, or choose another name."},
		{ReasonCannotResolve, "A field refers to another object that does not exist yet, has no external name yet, or is being deleted, or to a kind " +
			"that is not installed.",
			"Usually nothing: the object goes on within seconds of the other one, or of its kind. Else correct the reference or the labels that it " +
				"selects by."},
		{ReasonCannotReadInputs, "A Secret that a field named ...SecretRef refers to is missing, or lacks the key.",
			"Create the Secret or the key, or correct the reference."},
		{ReasonInvalidPolicy, "spec.managementPolicies cannot be followed: Observe is missing, or the provider does not support them.",
			"Add Observe to the list, or set it to [\"*\"]."},
		{ReasonCannotObserve, "The external system could not be asked about the resource, or the resource is missing and must not be created.",
			"Read the message. Errors of the external system are tried again, later each time."},
		{ReasonCannotCreate, "The external system refused to create the resource, or its answer was lost.",
			"Correct the spec if the message says what is wrong with it. A lost answer heals by itself where the resource can be found or named."},
		{ReasonCannotUpdate, "The external system refused to change the resource.",
			"Correct the spec; a setting that cannot change needs a new object."},
		{ReasonCannotDelete, "The external system refused to delete the resource.",
			"Remove what the message says is in the way. Deletion is tried again until the resource is gone."},
		{ReasonCannotPublish, "The connection Secret cannot be written: its namespace is missing, or another object owns a Secret of that name.",
			"Create the namespace, or name another Secret in spec.writeConnectionSecretToRef. What the external system told only once is kept meanwhile."},
		{ReasonCannotUpdateMR, "The API server did not take a change to the object. Where that is the status, its fields that the message names stay as " +
			"they were, and all else goes on.",
			"Usually nothing: it is tried again. If it lasts, check the rights of the controllers and admission webhooks, and that the CRD is the one " +
				"that belongs to the provider."},
		{ReasonCannotFill, "The external system chose settings that the API server does not take into the spec: the schema or an admission policy " +
			"refuses them. All else goes on.",
			"Set the fields that the message names yourself, or leave LateInitialize out of managementPolicies. It is tried again at every poll."},
		{ReasonExternalFailed, "The external system itself reports that something is wrong with the resource.",
			"Read the message and look into the external system."},
		{ReasonPanicked, "The provider's code ended in a panic, which is a mistake in the provider.",
			"Report it with the stack trace, which the controllers' log has. The object is tried again, later each time; others are not concerned."},
		{ReasonDrifted, "The external resource differs from spec.forProvider, and no update settles it or updating is not permitted.",
			"See status.drift for the fields. Change the spec to what is there, permit Update, or change the external resource."},
		{ReasonDisorder, "The external resource is deleted although objects that depend on it are not gone yet: waiting for them took too long or cannot end.",
			"Look at the objects that the message names. The external system may refuse the deletion until they are gone."},
		{ReasonPaused, "The object is paused by the annotation crossplane.io/paused or by empty managementPolicies.",
			"Remove the annotation, or add policies, to resume."},
		{ReasonCreated, "The external resource was created.", ""},
		{ReasonUpdated, "The external resource was changed to match the object.", ""},
		{ReasonDeleted, "Deletion of the external resource was requested.", ""},
	}
}
