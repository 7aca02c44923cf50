// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// managedChecks are what is looked for with a managed resource, in the order in which it is told.
func (q *inquiry) managedChecks() []func() {
	return []func(){
		q.checkSeen, q.checkPaused, q.checkDeletion, q.checkConfig, q.checkNamespace, q.checkCreation, q.checkCalls, q.checkReferences,
		q.checkError, q.checkOperation, q.checkExternal, q.checkDrift,
	}
}

// checkSeen tells that no controller has looked at the object as it is now.
func (q *inquiry) checkSeen() {
	seen := q.synced.ObservedGeneration
	switch {
	case q.unseen():
		q.blocked("No controller has said anything about it yet.",
			"If it is more than some seconds old, see whether the controllers run (bowline status), and whether they bring its provider.")
	case seen > 0 && seen < q.object.GetGeneration() && q.paused() == "":
		q.blocked("Its last change was not looked at yet.",
			"If that stays so, see whether the controllers run (bowline status) and answer in time.")
	}
}

// paused says by what the object is paused, empty if it is not.
func (q *inquiry) paused() string {
	if q.Role != inspect.RoleManaged {
		return ""
	}
	policies, given, _ := unstructured.NestedSlice(q.object.Object, "spec", "managementPolicies")
	switch {
	case meta.IsPaused(q.object):
		return "annotation " + meta.AnnotationKeyReconciliationPaused
	case given && len(policies) == 0:
		return "empty spec.managementPolicies"
	case q.synced.Status == corev1.ConditionFalse && q.synced.Reason == xpv1.ReasonReconcilePaused:
		return "its provider"
	}
	return ""
}

func (q *inquiry) checkPaused() {
	by := q.paused()
	if by == "" {
		return
	}
	action := actionOf(string(managed.ReasonPaused))
	if meta.IsPaused(q.object) {
		action = fmt.Sprintf("To resume: kubectl annotate %s %s-", q.address(), meta.AnnotationKeyReconciliationPaused)
	}
	q.blocked("It is paused by "+by+".", action)
	if meta.WasDeleted(q.object) {
		q.advise(fmt.Sprintf("To let it go without its external resource: kubectl annotate %s %s=true", q.address(),
			meta.AnnotationKeyOrphanOnDelete))
	}
}

// checkConfig looks whether the provider configuration is there, and the Secret that it names.
func (q *inquiry) checkConfig() {
	ref, ok := inspect.Reference(q.object, "spec", "providerConfigRef")
	if !ok {
		return
	}
	kind, known := q.cluster.ProviderConfigKind(q.kind.GroupKind(), ref.Kind)
	if !known {
		return // a provider of its own habits
	}
	key := types.NamespacedName{Namespace: q.Namespace, Name: ref.Name}
	r := q.cluster.Get(q.ctx, kind.GroupKind(), key)
	switch r.Presence {
	case inspect.Missing:
		q.blocked(fmt.Sprintf("%s %q does not exist.", kind.Kind, ref.Name),
			fmt.Sprintf("Create %s %q, or correct spec.providerConfigRef.", kind.Kind, ref.Name))
	case inspect.Present:
		q.config = r.Object
		q.checkCredentials(r.Object)
	}
}

// checkCredentials looks whether the Secret is there that a provider configuration names.
func (q *inquiry) checkCredentials(config *unstructured.Unstructured) {
	ref, ok := inspect.Reference(config, "spec", "credentials", "secretRef")
	if !ok || inspect.Text(config, "spec", "credentials", "source") != string(xpv1.CredentialsSourceSecret) {
		return
	}
	name := inspect.Path(ref.Namespace, ref.Name)
	secret, r := q.cluster.Secret(q.ctx, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
	wanted := inspect.Text(config, "spec", "credentials", "secretRef", "key")
	what := fmt.Sprintf("which %s %q names for its credentials", config.GetKind(), config.GetName())
	switch {
	case r.Presence == inspect.Missing:
		q.blocked(fmt.Sprintf("Secret %s, %s, does not exist.", name, what), "Create the Secret, or correct spec.credentials.secretRef.")
	case secret != nil && secret.Data[wanted] == nil:
		q.blocked(fmt.Sprintf("Secret %s, %s, has no key %q.", name, what, wanted), "Add the key, or correct spec.credentials.secretRef.")
	}
}

// checkNamespace looks whether there is a place for the connection Secret.
func (q *inquiry) checkNamespace() {
	key, ok := inspect.ConnectionSecret(q.object)
	if ok && q.cluster.Namespace(q.ctx, key.Namespace).Presence == inspect.Missing {
		q.blocked(fmt.Sprintf("Namespace %q, where its connection Secret is to be, does not exist.", key.Namespace),
			"Create the namespace: kubectl create namespace "+key.Namespace)
	}
}

// checkCreation looks for a suspected leak: a creation of which nobody knows how it ended.
func (q *inquiry) checkCreation() {
	if !q.leaks() {
		return
	}
	since := meta.GetExternalCreatePending(q.object).Format(time.RFC3339)
	q.blocked("Its creation was cut off at "+since+", and nobody knows whether the external resource exists: a leak is suspected.",
		actionOf(string(managed.ReasonCannotInitialize)))
}

func (q *inquiry) leaks() bool {
	return meta.ExternalCreateIncomplete(q.object) && q.synced.Message == managed.MessageCreateIncomplete
}

// Parts of what package limits says of calls that were not made.
const (
	heldBack = "calls of "
	refused  = "the external system refuses the credentials of "
)

// checkCalls looks whether the external system is left alone: it asked for that, does not answer, or refused the credentials.
func (q *inquiry) checkCalls() {
	if !q.failing() {
		return
	}
	if _, after, ok := strings.Cut(q.synced.Message, refused); ok {
		q.blocked("The external system refuses the credentials of "+strings.TrimSuffix(after, ".")+".",
			"Correct the Secret with the credentials. Calls are tried again by themselves, at once when it changes.")
	} else if q.throttled() {
		_, after, _ := strings.Cut(q.synced.Message, heldBack)
		q.blocked("The external system is left alone for a while: calls of "+after+".",
			"Usually nothing: calls are made again as soon as they are welcome. If it lasts, see whether the external system answers, "+
				"and spec.limits of the ProviderConfig.")
	}
}

func (q *inquiry) throttled() bool {
	_, after, ok := strings.Cut(q.synced.Message, heldBack)
	return ok && strings.Contains(after, " wait: ") || strings.Contains(q.synced.Message, refused)
}

// unresolved is how package managed begins to say that a reference leads nowhere.
const unresolved = "resolving references: "

func (q *inquiry) checkReferences() {
	if after, ok := strings.CutPrefix(q.synced.Message, unresolved); ok && q.failing() {
		q.blocked("It refers to something that cannot be used yet: "+after+".", "")
	}
}

// checkError tells in general what the last error means, if nothing told it in particular.
func (q *inquiry) checkError() {
	if !q.failing() || q.LastError == nil {
		return
	}
	known, ok := explanationOf(q.LastError.Reason)
	if len(q.Blockers) == 0 {
		if ok {
			q.blocked(known.Meaning, "")
		} else {
			q.blocked("The last pass over it failed.", "Read the message.")
		}
	}
	q.advise(known.Action)
}

// checkOperation tells of what goes on in the background.
func (q *inquiry) checkOperation() {
	on, last := q.status.GetCondition(xpv1.TypeAsyncOperation), q.status.GetCondition(xpv1.TypeLastAsyncOperation)
	if on.Status == corev1.ConditionTrue && on.Reason == xpv1.ReasonOngoing {
		q.blocked("An operation goes on in the background.", "")
	}
	if last.Status == corev1.ConditionFalse {
		q.blocked(sentence("The last operation in the background failed: "+last.Message), "")
	}
}

// checkExternal tells that the external resource cannot be used yet.
func (q *inquiry) checkExternal() {
	if q.ready.Status != corev1.ConditionFalse || q.failing() || meta.WasDeleted(q.object) || q.paused() != "" {
		return
	}
	what := fmt.Sprintf("The external resource cannot be used yet (%s)", q.ready.Reason)
	for _, field := range []string{"state", "status", "phase"} {
		if word := inspect.Text(q.object, "status", "atProvider", field); word != "" {
			what += ": the external system reports " + word
			break
		}
	}
	for _, message := range []string{q.ready.Message, q.synced.Message} {
		if message != "" {
			what += ". " + strings.TrimSuffix(message, ".")
		}
	}
	q.blocked(what+".", "")
}

// checkDrift tells that the external resource is not as declared.
func (q *inquiry) checkDrift() {
	sync := q.status.GetCondition(xpv1.TypeInSync)
	if sync.Status != corev1.ConditionFalse {
		return
	}
	var paths []string
	drift, _, _ := unstructured.NestedSlice(q.object.Object, "status", "drift")
	for _, item := range drift {
		if fields, ok := item.(map[string]any); ok {
			paths = append(paths, fmt.Sprint(fields["path"]))
		}
	}
	what := "The external resource is not as declared"
	if len(paths) > 0 {
		what += " in spec.forProvider: " + strings.Join(paths, ", ")
	}
	q.blocked(what+".", actionOf(string(managed.ReasonDrifted)))
}
