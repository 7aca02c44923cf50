// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
)

// Reasons of condition Ready, and of events about it.
const (
	ReasonNoTarget          xpv1.ConditionReason = "NoTarget"          // none was chosen yet
	ReasonTargetUnavailable xpv1.ConditionReason = "TargetUnavailable" // it, its Secret or its kubeconfig is missing
	ReasonNotAllowed                             = xpv1.ReasonNotAllowed
	ReasonInvalidTemplate   xpv1.ConditionReason = "InvalidTemplate"
	ReasonSecretUnavailable xpv1.ConditionReason = "SecretUnavailable" // one that is to be copied is missing
	ReasonApplyRefused      xpv1.ConditionReason = "ApplyRefused"      // the cluster refuses the object
	ReasonProgressing       xpv1.ConditionReason = "Progressing"       // it is on its way
	ReasonKindMissing       xpv1.ConditionReason = "KindMissing"       // the cluster does not have the kind
	ReasonContended         xpv1.ConditionReason = "Contended"         // somebody else changes it again and again
	ReasonObjectFailed      xpv1.ConditionReason = "ObjectFailed"      // it failed in the cluster
	ReasonCannotWatch       xpv1.ConditionReason = "CannotWatch"       // changes in the cluster are not seen
	ReasonCannotDelete      xpv1.ConditionReason = "CannotDelete"      // an object of a former generation, or of a deleted resource
)

// Reasons of events only.
const (
	ReasonCannotApply event.Reason = "CannotApplyObject"
	ReasonReverted    event.Reason = "RevertedObject"
	ReasonLeft        event.Reason = "LeftObject"
	ReasonPaused      event.Reason = "ReconcilePaused"
)

// Reasons returns an explanation of every reason: those first that keep a resource from being ready.
func Reasons() []event.Explanation {
	explain := func(r xpv1.ConditionReason, meaning, action string) event.Explanation {
		return event.Explain(event.Reason(r), meaning, action)
	}
	return []event.Explanation{
		explain(ReasonNoTarget, "No target was chosen.", "See why the KubernetesApplication has none."),
		explain(ReasonTargetUnavailable, "The target does not exist, is being deleted, or has no usable kubeconfig.", "Read the message, and condition Ready of the target."),
		explain(ReasonNotAllowed, "The target does not allow objects of this kind, or in this namespace.",
			"Choose another target, or ask whoever wrote the target to extend spec.allowedKinds or spec.allowedNamespaces."),
		explain(ReasonInvalidTemplate, "The template cannot be an object of a cluster.", "Read the message and correct the template."),
		explain(ReasonSecretUnavailable, "A Secret of spec.secrets does not exist.", "Create it, or wait for the claim that does. Reconciliation resumes automatically."),
		explain(ReasonApplyRefused, "The cluster does not accept the object, or the credentials of the target do not permit it.", "Read the message: it has the cluster's answer."),
		explain(failure.ExternalNameTaken, "An object of that name exists in the cluster and belongs to somebody else.",
			"Choose another name. To take it over, set the annotation bowline.dev/take-over-from as the message says."),
		explain(failure.ExternalResourceLost, "The object was deleted in the cluster with data of others: a namespace, a definition, a volume.",
			"To create an empty one, set the annotation bowline.dev/recreate as the message says."),
		explain(ReasonProgressing, "The object is being created, becomes ready, or waits for others of its application.", "Usually nothing. If it lasts, look at the object in the cluster."),
		explain(ReasonContended, "Somebody changes the object in the cluster whenever it is changed back.",
			"Find out who does, and leave the fields out of the template that another controller sets, such as replicas."),
		explain(ReasonObjectFailed, "The object reports in the cluster that it failed.", "Read the message, and look at the object in the cluster."),
		explain(ReasonCannotWatch, "The credentials of the target do not permit to watch the object, so that changes are not changed back.",
			"Give them list and watch on its kind in its namespace."),
		explain(ReasonCannotDelete, "An object that is no longer declared cannot be deleted from its cluster.",
			"Read the message. To leave the object there, set the annotation bowline.dev/orphan-on-delete of the resource to \"true\"."),
		event.Explain(ReasonCannotApply, "A pass failed and is retried: the cluster cannot be reached, or does not accept the credentials.",
			"Usually nothing. If it lasts, ask your platform team whether the cluster runs."),
		explain(ReasonKindMissing, "The cluster does not have the kind of the object. This is retried.", "Correct apiVersion and kind, or install the definition there."),
		event.Explain(ReasonReverted, "The object was changed in the cluster, and was changed back.", "Change the template instead."),
		event.Explain(ReasonLeft, "An object was left in its cluster, or is gone with it.", "Nothing, or delete it there."),
		event.Explain(ReasonPaused, "The resource or application is paused by the annotation crossplane.io/paused.", "Remove the annotation to resume."),
	}
}
