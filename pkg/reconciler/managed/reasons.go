// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"errors"
	"fmt"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
)

// Reasons of the events that the reconciler emits (docs/contract.md, Names). They are stable: scripts and alerts may rely on them.
// Reasons explains each. The cause of a failure is the reason of condition Stalled or Reconciling.
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
	ReasonCannotRotate     event.Reason = "CannotRotateCredentials"
	ReasonExternalFailed   event.Reason = "ExternalResourceFailed"
	ReasonExternalLost     event.Reason = "ExternalResourceLost"
	ReasonPanicked         event.Reason = "ProviderPanicked"
	ReasonDetailsLost      event.Reason = "ConnectionDetailsLost"

	ReasonCreated         event.Reason = "CreatedExternalResource"
	ReasonUpdated         event.Reason = "UpdatedExternalResource"
	ReasonRotated         event.Reason = "RotatedCredentials"
	ReasonDeleted         event.Reason = "DeletedExternalResource"
	ReasonDrifted         event.Reason = "ExternalResourceDrifted"
	ReasonPaused          event.Reason = "ReconcilePaused"
	ReasonDisorder        event.Reason = "DeletedOutOfOrder"
	ReasonOrphaned        event.Reason = "OrphanedExternalResource"
	ReasonIgnored         event.Reason = "AnnotationIgnored"
	ReasonDeletionsPaused event.Reason = "DeletionsPaused"
)

// causes is the cause of an error that the step did not classify itself, by the reason of its event. An error of a call to the
// external system may classify itself by its type, such as a network error; one of the API server may not.
var causes = map[event.Reason]struct {
	cause failure.Reason
	calls bool // the external system
}{
	ReasonCannotConnect:    {failure.ProviderConfigUnavailable, true},
	ReasonCannotInitialize: {failure.InternalError, false},
	ReasonCannotResolve:    {failure.WaitingForReferences, false},
	ReasonCannotReadInputs: {failure.SecretInputUnavailable, false},
	ReasonInvalidPolicy:    {failure.InvalidPolicy, false},
	ReasonCannotObserve:    {failure.ExternalCallFailed, true},
	ReasonCannotCreate:     {failure.ExternalCallFailed, true},
	ReasonCannotUpdate:     {failure.ExternalCallFailed, true},
	ReasonCannotDelete:     {failure.ExternalCallFailed, true},
	ReasonCannotPublish:    {failure.ConnectionSecretUnavailable, false},
	ReasonCannotUpdateMR:   {failure.InternalError, false},
	ReasonCannotFill:       {failure.SpecRefused, false},
	ReasonCannotRotate:     {failure.ExternalCallFailed, true},
	ReasonExternalFailed:   {failure.ExternalResourceFailed, true},
	ReasonExternalLost:     {failure.ExternalResourceLost, false},
	ReasonPanicked:         {failure.ProviderPanicked, false},
	ReasonDetailsLost:      {failure.ConnectionDetailsLost, false},
}

// classified is the error with the cause that belongs to the reason of its event, unless it is classified.
func classified(reason event.Reason, err error) error {
	known := causes[reason]
	if known.calls {
		return failure.Default(known.cause, err)
	}
	if _, done := errors.AsType[*failure.Error](err); done {
		return err
	}
	return failure.With(known.cause, err)
}

func failed(reason event.Reason, err error) outcome {
	return flow.Failed(reason, classified(reason, err))
}

func rejected(reason event.Reason, err error) outcome {
	return flow.Rejected(reason, classified(reason, err))
}

func stopped(reason event.Reason, err error) outcome {
	return flow.Stopped(reason, classified(reason, err))
}

// written is the outcome of a write to the object that is refused if the object changed since it was read.
func written(doing string, err error) outcome {
	if err != nil {
		err = classified(ReasonCannotUpdateMR, fmt.Errorf("%s: %w", doing, err))
	}
	return flow.Written(ReasonCannotUpdateMR, err)
}

// callFailed is the error of a call to the external system.
func callFailed(doing string, err error) error {
	return fmt.Errorf("%s the external resource: %w", doing, err)
}

// Reasons returns an explanation of every reason that the reconciler gives in events, the bad ones first. The page
// docs/reasons.md is generated from it.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(ReasonCannotConnect, "The ProviderConfig or its credentials cannot be read, or no client can be made of them.",
			"Read the message: create the ProviderConfig or the Secret that it names, or correct providerConfigRef. Reconciliation resumes automatically."),
		event.Explain(ReasonCannotInitialize, "It is not certain which external resource belongs to the object: its creation was interrupted and cannot be "+
			"looked up, a resource of that name belongs to another object, or the external name has characters that cannot be seen.",
			"For an interrupted creation: `bowline leaks` shows since when and what to look for in the external system. Delete what was left behind, "+
				"or set the annotation crossplane.io/external-name to its name, then remove the annotation crossplane.io/external-create-pending. "+
				"For a foreign resource: choose another name, or adopt it as the message describes."),
		event.Explain(ReasonCannotResolve, "A field refers to another object that does not exist yet, has no external name yet, or is being deleted, or to a kind "+
			"that is not installed.",
			"Usually nothing: reconciliation resumes within seconds of the other object, or of its kind. Otherwise correct the reference or the labels "+
				"that it selects by."),
		event.Explain(ReasonCannotReadInputs, "A Secret that a field named ...SecretRef refers to is missing, or lacks the key.",
			"Create the Secret or the key, or correct the reference."),
		event.Explain(ReasonInvalidPolicy, "spec.managementPolicies cannot be followed: Observe is missing, or the provider does not support them.",
			"Add Observe to the list, or set it to [\"*\"]."),
		event.Explain(ReasonCannotObserve, "The external resource could not be observed, or it is missing and must not be created.",
			"Read the message. Errors of the external system are retried with backoff."),
		event.Explain(ReasonCannotCreate, "The external system refused to create the resource, or its answer was lost.",
			"Correct the spec if the message names a setting. A lost answer is recovered automatically where the resource can be found or named."),
		event.Explain(ReasonCannotUpdate, "The external system refused to change the resource.",
			"Correct the spec; a setting that cannot change needs a new object."),
		event.Explain(ReasonCannotDelete, "The external system refused to delete the resource.",
			"Remove what the message names. Deletion is retried until the resource is gone."),
		event.Explain(ReasonCannotPublish, "The connection Secret cannot be read or written: its namespace is missing or out of the "+
			"controllers' reach (--secret-namespaces), or another object owns a Secret of that name.",
			"Create the namespace, or name another Secret in spec.writeConnectionSecretToRef. One-time details are kept in memory meanwhile; nothing is "+
				"created while the Secret cannot be read."),
		event.Explain(ReasonCannotUpdateMR, "The API server refused a change to the object. Where that is the status, the fields that the message names stay as "+
			"they were; all else is done.",
			"Usually nothing: it is retried. If it lasts, check the rights of the controllers and admission webhooks, and that the CRD is the one "+
				"that belongs to the provider."),
		event.Explain(ReasonCannotFill, "The external system chose settings that the API server does not accept in the spec: the schema or an admission policy "+
			"refuses them. All else is done.",
			"Set the fields that the message names yourself, or leave LateInitialize out of managementPolicies. It is retried at every poll."),
		event.Explain(ReasonCannotRotate, "New credentials were requested, and the external system refused them, or there can be none. The connection Secret keeps the "+
			"former ones.",
			"Read the message. What the external system refused is retried with the same new credentials, which are stored. A request that cannot be "+
				"met ends with the annotation bowline.dev/rotate-credentials-at."),
		event.Explain(ReasonExternalFailed, "The external system itself reports that something is wrong with the resource.",
			"Read the message and check the resource in the external system."),
		event.Explain(ReasonExternalLost, "The external resource was created or adopted, and is gone, or was replaced by another one without an ownership label. "+
			"It held data, which an empty one would lack.",
			"Restore it under the same name: the object recovers at the next poll. To accept one that was restored without the label, set the "+
				"annotation bowline.dev/restored-as on the managed resource to the id in the message. To create an empty one, set the annotation "+
				"bowline.dev/recreate to the present time or to its UID, or spec.recreatePolicy to Always."),
		event.Explain(ReasonPanicked, "The provider's code panicked, which is a bug in the provider.",
			"Report it with the stack trace in the controllers' log. The object is retried with backoff; others are not affected."),
		event.Explain(ReasonDetailsLost, "The connection Secret lacks keys that the external system returned only when the resource was created: the Secret or "+
			"the keys were deleted, or the answer of the create was lost, which `bowline leaks` lists too.",
			"Copy the keys that the message names from a Secret that has them, or reset them in the external system and add them. "+
				"To do without them, remove the annotation bowline.dev/created-connection-keys."),
		event.Explain(ReasonDrifted, "The external resource differs from spec.forProvider, and no update settles it or updating is not permitted.",
			"See status.drift. Permit Update if it is not permitted. Otherwise no update removes the difference: declare what is there, or move the field to initProvider."),
		event.Explain(ReasonDisorder, "The external resource is deleted although objects that depend on it still exist: waiting for them took too long or cannot end.",
			"Check the objects that the message names. The external system may refuse the deletion until they are deleted."),
		event.Explain(ReasonIgnored, "An annotation or setting has a value without effect, such as \"TRUE\" where only \"true\" pauses. All else is done.",
			"Set the value that the message names, or remove the annotation or setting."),
		event.Explain(ReasonDeletionsPaused, "The external resource is not deleted yet because too many were to be deleted within a minute.",
			"Check what deletes them, then resume all: bowline resume-deletions."),
		event.Explain(ReasonPaused, "The object is paused by the annotation crossplane.io/paused or by empty managementPolicies.",
			"Remove the annotation, or add policies, to resume."),
		event.Explain(ReasonCreated, "The external resource was created.", ""),
		event.Explain(ReasonUpdated, "The external resource was changed to match the object.", ""),
		event.Explain(ReasonRotated, "The external resource has new credentials, which replaced the former ones in the connection Secret.", ""),
		event.Explain(ReasonDeleted, "Deletion of the external resource was requested.", ""),
		event.Explain(ReasonOrphaned, "The object is deleted without its external resource, as its policies or the annotation bowline.dev/orphan-on-delete "+
			"request, or because the resource belongs to another object; or a person gave the object another external name.", "Delete it in the external system, or import it, if it is not used otherwise."),
	}
}
