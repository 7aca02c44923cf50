// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import "github.com/bowline-dev/bowline/pkg/event"

// Reasons of the events that the reconciler emits (section 9.1 of the contract).
const (
	ReasonCannotConnect    event.Reason = "CannotConnectToProvider"
	ReasonCannotInitialize event.Reason = "CannotInitializeManagedResource"
	ReasonCannotObserve    event.Reason = "CannotObserveExternalResource"
	ReasonCannotCreate     event.Reason = "CannotCreateExternalResource"
	ReasonCannotUpdate     event.Reason = "CannotUpdateExternalResource"
	ReasonCannotDelete     event.Reason = "CannotDeleteExternalResource"
	ReasonCannotPublish    event.Reason = "CannotPublishConnectionDetails"
	ReasonCannotUpdateMR   event.Reason = "CannotUpdateManagedResource"
	ReasonCannotResolve    event.Reason = "CannotResolveResourceReferences"
	ReasonCannotReadInputs event.Reason = "CannotReadSecretInputs"
	ReasonInvalidPolicy    event.Reason = "CannotUseInvalidManagementPolicy"
	ReasonExternalFailed   event.Reason = "ExternalResourceFailed"

	ReasonCreated event.Reason = "CreatedExternalResource"
	ReasonUpdated event.Reason = "UpdatedExternalResource"
	ReasonDeleted event.Reason = "DeletedExternalResource"
	ReasonDrifted event.Reason = "ExternalResourceDrifted"
	ReasonPaused  event.Reason = "ReconcilePaused"
)
