// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/application"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// checkControllers reports controllers that do not run.
func (q *inquiry) checkControllers() {
	if stop, found := q.cluster.Stopped(q.ctx); found {
		q.blocked(fmt.Sprintf("%s, and what is shown here may be outdated.", stop),
			"Start them with bowline up or bowline controllers, or ask your platform team to.")
	}
}

func (q *inquiry) checkSeen() {
	seen := q.synced.ObservedGeneration
	switch {
	case q.unseen():
		q.blocked("No controller has reconciled it yet.",
			"If it is older than some seconds, check whether the controllers run (bowline status) and have its provider.")
	case seen > 0 && seen < q.object.GetGeneration() && q.pausedBy() == "":
		q.blocked("Its last change is not reconciled yet.",
			"If this lasts, check whether the controllers run (bowline status) and keep up.")
	}
}

// checkConditions reports conditions that are False, or True where that is bad, except where a finalizer explains more about a
// deletion.
func (q *inquiry) checkConditions() {
	for _, c := range q.status.Conditions {
		bad := corev1.ConditionFalse
		if q.Kind == "Namespace" || c.Type == xpv1.TypeStalled || c.Type == xpv1.TypeReconciling || c.Type == xpv1.TypeDeletionsPaused {
			bad = corev1.ConditionTrue
		}
		if c.Status != bad || c.Type == xpv1.TypeReady && meta.WasDeleted(q.object) && len(q.Blockers) > 0 {
			continue
		}
		cause := fmt.Sprintf("Condition %s is %s (%s)", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			cause += ": " + c.Message
		}
		q.blocked(sentence(cause), advice(c.Reason).Action)
	}
}

// checkDeletion reports what delays a deletion: the dependents, then each finalizer.
func (q *inquiry) checkDeletion() {
	if !meta.WasDeleted(q.object) {
		return
	}
	if q.failure.Reason == failure.WaitingForDependents {
		q.blocked(sentence(q.synced.Message), "")
	}
	for _, f := range q.object.GetFinalizers() {
		switch f {
		case managed.Finalizer:
			q.blocked("It is kept until its external resource is deleted or orphaned.", "")
			if q.pausedBy() != "" || failure.IsOutOfReach(q.failure.Reason) {
				q.advise(fmt.Sprintf("To delete it and keep its external resource: kubectl annotate %s %s=true", q.address(),
					meta.AnnotationKeyOrphanOnDelete))
			}
		case claimbinding.Finalizer:
			q.blocked(sentence(cmp.Or(q.ready.Message, "It is kept until its managed resource is deleted or released")),
				advice(q.failure.Reason).Action)
		case target.Finalizer, application.Finalizer, applicationresource.Finalizer:
			q.blocked(sentence(cmp.Or(q.ready.Message, "It is kept until what it has in a cluster, or its Secret, is deleted")), advice(q.failure.Reason).Action)
		case providerconfig.Finalizer:
			used := advice(providerconfig.ReasonInUse)
			q.blocked(sentence(cmp.Or(q.ready.Message, used.Meaning)), used.Action)
		case controller.Finalizer:
			q.blocked(sentence(cmp.Or(q.ready.Message, "It is kept while there are objects of its kinds")), "Delete the objects of its kinds first.")
		case providerconfig.SecretFinalizer:
			q.blocked("It is kept while a ProviderConfig that is in use names it.",
				"Let the ProviderConfig name another Secret, or delete the users of the ProviderConfig.")
		case metav1.FinalizerOrphanDependents:
			q.blocked("It is kept until it is removed from the owners of the objects that it owns.", "")
		case metav1.FinalizerDeleteDependents:
			q.blocked("It is kept until the objects that it owns are deleted.", "")
		default:
			q.blocked(fmt.Sprintf("It is kept by finalizer %q, which is not Bowline's.", f),
				"Find the program that owns this finalizer, and check whether it runs.")
		}
	}
}

// checkContent reports which objects keep a namespace that is being deleted.
func (q *inquiry) checkContent() {
	if q.Kind != "Namespace" || !meta.WasDeleted(q.object) {
		return
	}
	for _, o := range q.cluster.Held(q.ctx, q.Name) {
		status := inspect.Conditions(&o)
		waits := status.GetCondition(xpv1.TypeReady).Message
		q.blocked(strings.TrimSpace(fmt.Sprintf("%s %q is kept by %s. %s", o.GetKind(), o.GetName(), strings.Join(o.GetFinalizers(), ", "), waits)),
			"Find out more: bowline why "+strings.ToLower(fmt.Sprintf("%s/%s -n %s", o.GroupVersionKind().GroupKind(), o.GetName(), q.Name)))
	}
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}

func (q *inquiry) checkClaimConditions() {
	if q.ready.Status == corev1.ConditionFalse && !meta.WasDeleted(q.object) {
		known := q.advice(q.ready.Reason)
		q.blocked(sentence(cmp.Or(q.ready.Message, known.Meaning)), known.Action)
	}
	if q.failing() {
		q.blocked(sentence(q.synced.Message), "")
	}
	if q.Ready && q.ready.Message != "" {
		q.Notes = append(q.Notes, q.ready.Message)
	}
}

// checkIgnored reports annotations without effect, also those that are for the managed resource of a claim.
func (q *inquiry) checkIgnored() {
	q.Notes = append(q.Notes, meta.IgnoredAnnotations(q.object)...)
	for _, key := range []string{meta.AnnotationKeyRecreate, meta.AnnotationKeyRestoredAs} {
		if q.Role == inspect.RoleClaim && q.object.GetAnnotations()[key] != "" {
			q.Notes = append(q.Notes, fmt.Sprintf("Annotation %s has no effect on a claim: ask your platform team to set it on its managed resource.", key))
		}
	}
}

// noteRotation reports a rotation of the credentials that is planned, that of a claim there, and until when former ones work.
func (q *inquiry) noteRotation() {
	if at := meta.GetRotateCredentialsAt(q.object); at.After(time.Now()) {
		q.Notes = append(q.Notes, fmt.Sprintf("Its credentials are to be rotated at %[1]s (annotation %[2]s). To withdraw that: kubectl annotate "+
			"%[3]s %[2]s-", at.UTC().Format(time.RFC3339), meta.AnnotationKeyRotateCredentialsAt, q.address()))
	}
	last, err := time.Parse(time.RFC3339, inspect.Text(q.object, "status", "credentials", "lastRotationTime"))
	if key, ok := inspect.ConnectionSecret(q.object); ok && err == nil {
		secret, _ := q.cluster.Secret(q.ctx, key)   // nil for a user who may not read it
		end := last.Add(connection.Overlap(secret)) // that of the last rotation, or of one that is pending
		if len(connection.Pending(secret)) == 0 && end.After(time.Now()) {
			q.Notes = append(q.Notes, fmt.Sprintf("Its former credentials work beside those of the last rotation until about %s. To end them now: "+
				"bowline rotate %s", end.UTC().Format(time.RFC3339), q.address()))
		}
	}
}

// noteReplacement reports a permission to replace the external resource, which counts until it is used.
func (q *inquiry) noteReplacement() {
	if fields := q.object.GetAnnotations()[meta.AnnotationKeyAllowReplace]; fields != "" {
		q.Notes = append(q.Notes, fmt.Sprintf("A change of %s replaces its external resource, with its data, where that cannot be changed (annotation "+
			"%[2]s). To withdraw that: kubectl annotate %[3]s %[2]s-", fields, meta.AnnotationKeyAllowReplace, q.address()))
	}
}

func (q *inquiry) checkClass() {
	ref, ok := inspect.Reference(q.object, "spec", "classRef")
	_, provisioned := inspect.Reference(q.object, "spec", "resourceRef")
	switch {
	case provisioned, q.ready.Reason == xpv1.ReasonClassNotFound: // which names the class
		return
	case !ok && len(q.Blockers) == 0:
		q.blocked("No class is chosen yet.", "")
	case !ok:
		return
	}
	switch r := q.cluster.Follow(q.ctx, ref, ""); r.Presence {
	case inspect.NoKind:
		q.blocked(fmt.Sprintf("Its class is of kind %s, which the server does not have.", ref.GroupVersionKind().GroupKind()),
			"Ask your platform team whether the provider of this class is installed.")
	case inspect.Missing:
		q.blocked(fmt.Sprintf("Class %s %q does not exist.", ref.Kind, ref.Name), "")
	}
}

func (q *inquiry) checkResource() {
	ref, ok := inspect.Reference(q.object, "spec", "resourceRef")
	if !ok {
		return
	}
	r := q.cluster.Follow(q.ctx, ref, q.Namespace)
	what := fmt.Sprintf("Managed resource %s %q", ref.Kind, ref.Name)
	switch {
	case r.Presence == inspect.Present:
		q.checkBond(what, r)
	case r.Presence == inspect.NoAccess && q.State != StateFine:
		q.Notes = append(q.Notes, "You may not read m"+what[1:]+", which may have more information.")
		q.advise(fmt.Sprintf("Ask your platform team for the output of: bowline why %s/%s", r.Kind, ref.Name))
	case r.Presence == inspect.Missing && q.ready.Reason != xpv1.ReasonResourceLost:
		q.blocked(what+" does not exist.", "")
	case r.Presence == inspect.NoKind:
		q.blocked(what+" is of a kind that the server does not have.", "Ask your platform team whether its provider is installed.")
	}
}

func (q *inquiry) checkBond(what string, r inspect.Reading) {
	ref, named := inspect.Reference(r.Object, "spec", "claimRef")
	if named && ref.UID != "" && ref.UID != q.object.GetUID() {
		if q.ready.Reason != xpv1.ReasonNotAllowed { // which reports it
			q.blocked(fmt.Sprintf("%s belongs to another claim: %s %s.", what, ref.Kind, inspect.Path(ref.Namespace, ref.Name)), "")
		}
		return
	}
	because := inquire(q.ctx, q.cluster, r).Explanation
	if q.State != StateFine || because.State != StateFine {
		q.Because = because
	}
}

func (q *inquiry) nextOfClaim() string {
	needPerson := []xpv1.ConditionReason{
		xpv1.ReasonNoMatchingClass, xpv1.ReasonAmbiguousDefaultClass, xpv1.ReasonClassNotFound, xpv1.ReasonResourceNotFound,
	}
	switch {
	case q.State == StateFine:
		return ""
	case q.State == StateDeleting:
	case q.failure.Reason == failure.ExternalResourceLost:
		return "As soon as the external resource is restored, or an empty one is permitted."
	case q.ready.Reason == xpv1.ReasonResourceLost:
		return "Not automatically: a lost managed resource is not created again."
	case q.ready.Reason == xpv1.ReasonLimitReached:
		return "As soon as another claim of the class is deleted, or the limit is raised."
	case q.failure.Stalled, slices.Contains(needPerson, q.ready.Reason):
		return "As soon as a person corrects the cause."
	case q.failing():
		return "Automatically, with backoff."
	}
	return "As soon as the cause changes."
}

func (q *inquiry) pausedBy() string {
	if q.Role != inspect.RoleManaged && q.Role != inspect.RoleWorkload {
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
	by := q.pausedBy()
	if by == "" {
		return
	}
	action := advice(xpv1.ConditionReason(managed.ReasonPaused)).Action
	if meta.IsPaused(q.object) {
		action = fmt.Sprintf("To resume: kubectl annotate %s %s-", q.address(), meta.AnnotationKeyReconciliationPaused)
	}
	q.blocked("It is paused by "+by+".", action)
}

// checkConfig checks the configuration of a managed resource, or that in the template of a class.
func (q *inquiry) checkConfig() {
	ref, r, ok := q.cluster.ProviderConfig(q.ctx, q.kind, q.object, q.template(), "providerConfigRef")
	if !ok {
		return
	}
	switch {
	case r.Presence == inspect.Missing && q.ready.Reason != failure.ProviderConfigUnavailable: // which a class reports itself
		q.blocked(fmt.Sprintf("%s %q does not exist.", ref.Kind, ref.Name),
			fmt.Sprintf("Create %s %q, or correct %s.providerConfigRef.", ref.Kind, ref.Name, q.template()))
	case r.Presence == inspect.Present:
		q.config = r.Object
		status := inspect.Conditions(r.Object)
		ready := status.GetCondition(xpv1.TypeReady)
		switch {
		case meta.WasDeleted(r.Object):
		case ready.Status == corev1.ConditionFalse:
			q.blocked(sentence(ready.Message), advice(ready.Reason).Action)
		case ready.Reason == "" && q.Role == inspect.RoleClass: // running providers report on all of their configurations
			q.blocked(fmt.Sprintf("No provider has reconciled %s %q of this class, so none that serves its claims runs.", ref.Kind, ref.Name),
				fmt.Sprintf("Start the provider of API group %s.", q.Group))
		}
	}
}

// template is the field with the settings of a managed resource, or of those of a class.
func (q *inquiry) template() string {
	if q.Role == inspect.RoleClass {
		return "specTemplate"
	}
	return "spec"
}

func (q *inquiry) checkNamespace() {
	if q.ready.Reason == failure.ConnectionSecretUnavailable { // which a class reports itself
		return
	}
	key, _ := inspect.ConnectionSecret(q.object)
	namespace := cmp.Or(key.Namespace, inspect.Text(q.object, "specTemplate", "writeConnectionSecretsToNamespace"))
	if namespace != "" && q.cluster.Namespace(q.ctx, namespace).Presence == inspect.Missing {
		q.blocked(fmt.Sprintf("Namespace %q of its connection Secret does not exist.", namespace),
			"Create the namespace: kubectl create namespace "+namespace)
	}
}

// checkFailure explains the reason of the current failure. The cause is general, so a check that found a specific one precedes it.
func (q *inquiry) checkFailure() {
	reason := q.failure.Reason
	if reason == "" && q.failing() {
		reason = xpv1.ConditionReason(q.LastError.Reason)
	}
	if reason == "" || reason == failure.WaitingForDependents || reason == failure.WaitingForFinalizers { // see checkDeletion
		return
	}
	known := advice(reason)
	switch {
	case q.searches():
		q.blocked("Its create was interrupted, and what it made is looked for: "+q.synced.Message, "If this lasts, do what the cause says.")
		return
	case reason == failure.CreateInterrupted && meta.ExternalCreateIncomplete(q.object):
		since := meta.GetExternalCreatePending(q.object).Format(time.RFC3339)
		q.blocked("Its create was interrupted at "+since+", and its external resource may exist under an unknown name.", "")
	case !q.failing(), reason == failure.ExternalResourceLost:
		q.blocked(sentence(cmp.Or(q.synced.Message, known.Meaning)), "")
	case len(q.Blockers) == 0 || q.State == StateDeleting:
		q.blocked(cmp.Or(known.Meaning, "The last reconcile failed."), "")
	}
	q.advise(cmp.Or(known.Action, "Read the message."))
	if reason == failure.ExternalResourceLost {
		q.advise(fmt.Sprintf("To create an empty one, once: kubectl annotate %s --overwrite %s=%s", q.address(), meta.AnnotationKeyRecreate,
			q.object.GetUID()))
	}
}

// searches is true for an object whose controller looks by itself for what an interrupted create made.
func (q *inquiry) searches() bool {
	return q.failure.Reason == failure.CreateInterrupted && !q.failure.Stalled
}

func (q *inquiry) checkOperation() {
	current, last := q.status.GetCondition(xpv1.TypeAsyncOperation), q.status.GetCondition(xpv1.TypeLastAsyncOperation)
	if current.Status == corev1.ConditionTrue && current.Reason == xpv1.ReasonOngoing {
		q.blocked("An asynchronous operation is in progress since "+current.LastTransitionTime.UTC().Format(time.RFC3339)+".", "")
	}
	recovered := q.ready.Status == corev1.ConditionTrue && q.synced.Status == corev1.ConditionTrue // without another operation
	if last.Status == corev1.ConditionFalse && !recovered {
		q.blocked(sentence("The last asynchronous operation failed: "+last.Message), "")
	}
}

func (q *inquiry) checkExternal() {
	if q.ready.Status != corev1.ConditionFalse || q.failing() || meta.WasDeleted(q.object) || q.pausedBy() != "" {
		return
	}
	cause := fmt.Sprintf("The external resource is not ready (%s)", q.ready.Reason)
	for _, field := range []string{"state", "status", "phase"} {
		if word := inspect.Text(q.object, "status", "atProvider", field); word != "" {
			cause += ": the external system reports " + word
			break
		}
	}
	messages := []string{q.ready.Message}
	if q.failure.Reason == "" { // else see checkFailure
		messages = append(messages, q.synced.Message)
	}
	for _, text := range messages {
		if text != "" {
			cause += ". " + strings.TrimSuffix(text, ".")
		}
	}
	q.blocked(cause+".", "")
}

func (q *inquiry) checkDrift() {
	c := q.status.GetCondition(xpv1.TypeInSync)
	if c.Status != corev1.ConditionFalse || c.Reason != xpv1.ReasonDrifted { // what is missing is a failure
		return
	}
	var paths []string
	drift, _, _ := unstructured.NestedSlice(q.object.Object, "status", "drift")
	for _, item := range drift {
		if fields, ok := item.(map[string]any); ok {
			paths = append(paths, fmt.Sprint(fields["path"]))
		}
	}
	cause := "The external resource differs from the spec"
	if len(paths) > 0 {
		cause = "The external resource differs from spec.forProvider: " + strings.Join(paths, ", ")
	}
	q.blocked(cause+".", advice(xpv1.ConditionReason(managed.ReasonDrifted)).Action)
}

// noteProtection reports what refuses a deletion of the object, and how to permit it (N39).
func (q *inquiry) noteProtection() {
	if q.Role != inspect.RoleManaged || meta.WasDeleted(q.object) {
		return
	}
	for _, message := range q.cluster.Protection(q.ctx, q.kind, q.object) {
		q.Notes = append(q.Notes, "Deletion is refused: "+message)
	}
}

// noteReaders reports that the list of namespaces permits reading, not only binding (N27).
func (q *inquiry) noteReaders() {
	if list := q.object.GetAnnotations()[meta.AnnotationKeyAllowedNamespaces]; list != "" {
		q.Notes = append(q.Notes, fmt.Sprintf("Annotation %s is %q: a target in each of these namespaces gets its connection Secret with the "+
			"password, whichever claim it is bound to.", meta.AnnotationKeyAllowedNamespaces, list))
	}
}

// nextOfManaged returns when a managed resource is reconciled again. Only the controllers know the exact time.
func (q *inquiry) nextOfManaged() string {
	switch {
	case q.pausedBy() != "":
		return "Not before it is resumed."
	case q.unseen():
		return "When a controller for its kind runs."
	case nextOfFailure()[q.failure.Reason] != "" && !q.searches():
		return nextOfFailure()[q.failure.Reason]
	case q.State == StateFine:
		return "At the next poll (" + q.pollInterval() + ")."
	}
	q.advise(fmt.Sprintf("To reconcile it now: kubectl annotate %s --overwrite %s=\"$(date)\"", q.address(), meta.AnnotationKeyReconcileRequestedAt))
	switch {
	case q.failure.Stalled:
		return "When it changes, and at the next poll (" + q.pollInterval() + ")."
	case q.failing():
		return "With backoff, at the latest after a minute."
	}
	return "Soon, at the latest at the next poll (" + q.pollInterval() + ")."
}

func (q *inquiry) pollInterval() string {
	if d, ok := meta.GetPollInterval(q.object); ok {
		return "every " + d.String()
	}
	if q.config != nil {
		if d := inspect.Text(q.config, "spec", "pollInterval"); d != "" {
			return "every " + d
		}
	}
	return "at the interval of the controllers, by default every minute"
}
