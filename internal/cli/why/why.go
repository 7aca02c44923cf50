// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package why explains why an object is not ready, and what to do.
//
// Controllers report typed reasons in conditions; advice is the table from a reason to its advice. No message is read: messages
// are only printed. What conditions do not contain, this package checks itself: it reads the objects that the object names, as far
// as this user may read them. A claim is explained together with its managed resource.
package why

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/application"
	"github.com/bowline-dev/bowline/pkg/reconciler/applicationresource"
	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/class"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/providers/terraform/controller"
)

// A State is the state of an object in one word.
type State string

// States of objects.
const (
	StateFine     State = "fine"
	StateWaiting  State = "waiting"
	StateFailing  State = "failing" // the last reconcile failed
	StatePaused   State = "paused"
	StateDeleting State = "deleting"
)

// An Explanation explains the state of an object. The keys of its JSON are an interface.
type Explanation struct {
	Role      inspect.Role `json:"role"`
	Kind      string       `json:"kind"` // in CamelCase
	Group     string       `json:"group,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	State     State        `json:"state"`
	Ready     bool         `json:"ready"`               // whether the object can be used
	Phase     string       `json:"phase,omitempty"`     // of binding
	Blockers  []string     `json:"blockers,omitempty"`  // causes of the state, each a sentence
	LastStep  *Happening   `json:"lastStep,omitempty"`  // the last change of the object's state
	LastError *Happening   `json:"lastError,omitempty"` // the last failure with its reason
	NextTry   string       `json:"nextTry,omitempty"`   // when the object is reconciled again
	Actions   []string     `json:"whatToDo,omitempty"`  // what a person can do
	Notes     []string     `json:"notes,omitempty"`     // what could not be read
	Because   *Explanation `json:"because,omitempty"`   // explains the managed resource of a claim
}

// A Happening is a step or an error.
type Happening struct {
	At      time.Time `json:"at,omitzero"`
	Reason  string    `json:"reason,omitempty"` // see docs/reasons.md
	Message string    `json:"message"`
	Over    bool      `json:"over,omitempty"` // of an error: no condition reports it any more
}

// Explain explains an object that was found, and whether it is protected from deletion.
func Explain(ctx context.Context, c *inspect.Cluster, of inspect.Reading) *Explanation {
	q := inquire(ctx, c, of)
	q.noteProtection()
	return q.Explanation
}

func inquire(ctx context.Context, c *inspect.Cluster, of inspect.Reading) *inquiry {
	o, role := of.Object, of.Kind.Role()
	q := &inquiry{
		ctx: ctx, cluster: c, kind: of.Kind, object: o, status: inspect.Conditions(o),
		Explanation: &Explanation{Role: role, Kind: of.Kind.Kind, Group: of.Kind.Group, Namespace: o.GetNamespace(), Name: o.GetName()},
	}
	q.ready, q.synced, q.failure = q.status.GetCondition(xpv1.TypeReady), q.status.GetCondition(xpv1.TypeSynced), xpv1.FailureOf(&q.status)
	q.State, q.Ready, q.Phase = q.state(), q.ready.Status == corev1.ConditionTrue, inspect.Text(o, "status", "bindingPhase")
	q.readHistory()
	checks, next := []func(){q.checkDeletion, q.checkContent, q.checkConditions}, func() string { return "" } // checks: in the order of the output
	switch role {
	case inspect.RoleClaim:
		checks, next = []func(){q.checkSeen, q.checkIgnored, q.checkDeletion, q.checkClaimConditions, q.noteRotation, q.checkClass, q.checkResource}, q.nextOfClaim
	case inspect.RoleClass:
		checks = append(checks, q.checkConfig, q.checkNamespace)
	case inspect.RoleTarget, inspect.RoleWorkload:
		checks = []func(){q.checkSeen, q.checkPaused, q.checkDeletion, q.checkContent, q.checkClaimConditions}
	case inspect.RoleManaged:
		checks, next = []func(){
			q.checkSeen, q.checkPaused, q.checkIgnored, q.checkDeletion, q.checkConfig, q.checkNamespace, q.checkFailure, q.checkOperation,
			q.checkExternal, q.checkDrift, q.noteRotation, q.noteReplacement, q.noteReaders,
		}, q.nextOfManaged
	}
	for _, check := range append([]func(){q.checkControllers}, checks...) {
		check()
	}
	if q.State == StateFine && len(q.Blockers) > 0 {
		q.State = StateWaiting
	}
	q.NextTry = next()
	return q
}

type inquiry struct {
	*Explanation

	ctx     context.Context
	cluster *inspect.Cluster
	kind    inspect.Kind
	object  *unstructured.Unstructured
	status  xpv1.ConditionedStatus
	ready   xpv1.Condition
	synced  xpv1.Condition
	failure xpv1.CurrentFailure
	config  *unstructured.Unstructured // the provider configuration, if it could be read
}

func (q *inquiry) state() State {
	switch {
	case meta.WasDeleted(q.object):
		return StateDeleting
	case q.pausedBy() != "":
		return StatePaused
	case q.failing():
		return StateFailing
	case q.ready.Status == corev1.ConditionFalse, q.unseen():
		return StateWaiting
	default:
		return StateFine
	}
}

func (q *inquiry) failing() bool {
	return q.synced.Status == corev1.ConditionFalse && q.synced.Reason != xpv1.ReasonReconcilePaused
}

func (q *inquiry) unseen() bool {
	served := []inspect.Role{inspect.RoleClaim, inspect.RoleManaged, inspect.RoleTarget, inspect.RoleWorkload}
	return slices.Contains(served, q.Role) && q.ready.Reason == "" && q.synced.Reason == ""
}

func (q *inquiry) blocked(cause, action string) {
	if cause != "" && !slices.Contains(q.Blockers, cause) {
		q.Blockers = append(q.Blockers, cause)
	}
	q.advise(action)
}

func (q *inquiry) advise(action string) {
	if action != "" && !slices.Contains(q.Actions, action) {
		q.Actions = append(q.Actions, action)
	}
}

func (q *inquiry) address() string {
	text := q.kind.String() + " " + q.Name
	if q.Namespace != "" {
		text += " -n " + q.Namespace
	}
	return text
}

func (q *inquiry) readHistory() {
	events, access := q.cluster.Events(q.ctx, q.object)
	if access == inspect.NoAccess {
		q.Notes = append(q.Notes, "You may not read its events, which have more information about the last hour.")
	}
	var normal, warning *corev1.Event
	for i := range events {
		if events[i].Type == corev1.EventTypeWarning {
			warning = &events[i]
		} else {
			normal = &events[i]
		}
	}
	q.LastStep = q.lastStep(normal)
	q.LastError = q.lastError(warning)
}

// lastStep is the latest step. Times have a precision of one second: of several steps within one the last in the list counts.
func (q *inquiry) lastStep(last *corev1.Event) *Happening {
	steps := []Happening{
		{At: q.object.GetCreationTimestamp().Time, Message: "The object was created."},
		{At: meta.GetExternalCreatePending(q.object), Message: "Creation of the external resource started."},
		{At: meta.GetExternalCreateFailed(q.object), Message: "Creation of the external resource failed."},
		{At: meta.GetExternalCreateSucceeded(q.object), Message: "The external resource was created."},
	}
	switch q.ready.Status {
	case corev1.ConditionTrue:
		steps = append(steps, Happening{At: q.ready.LastTransitionTime.Time, Message: "It became ready."})
	case corev1.ConditionFalse:
		steps = append(steps, Happening{At: q.ready.LastTransitionTime.Time, Message: fmt.Sprintf("It became not ready (%s).", q.ready.Reason)})
	case corev1.ConditionUnknown:
		steps = append(steps, Happening{At: q.ready.LastTransitionTime.Time, Message: "It can no longer be observed."})
	}
	if at := q.object.GetDeletionTimestamp(); at != nil {
		steps = append(steps, Happening{At: at.Time, Message: "Its deletion was requested."})
	}
	if last != nil {
		steps = append(steps, Happening{At: inspect.When(*last), Reason: last.Reason, Message: last.Message})
	}
	var latest Happening
	for _, s := range steps {
		if !s.At.IsZero() && !s.At.Before(latest.At) {
			latest = s
		}
	}
	latest.At = latest.At.UTC()
	return &latest
}

func (q *inquiry) lastError(last *corev1.Event) *Happening {
	if !q.failing() {
		if last == nil || last.Reason == string(q.ready.Reason) { // the reason why a claim waits is no error, but a cause
			return nil
		}
		return &Happening{At: inspect.When(*last).UTC(), Reason: last.Reason, Message: last.Message, Over: true}
	}
	now := &Happening{At: q.synced.LastTransitionTime.UTC(), Reason: string(q.failure.Reason), Message: q.synced.Message}
	if last != nil && !inspect.When(*last).Before(now.At) { // the failure was reported again
		now.At, now.Reason = inspect.When(*last).UTC(), cmp.Or(now.Reason, last.Reason)
	}
	now.Reason = cmp.Or(now.Reason, string(q.synced.Reason))
	return now
}

// advice is advice about a reason as the controllers of the object mean it.
func (q *inquiry) advice(reason xpv1.ConditionReason) event.Explanation {
	if q.Role == inspect.RoleWorkload {
		if own := find(reason, application.Reasons(), applicationresource.Reasons()); own.Reason != "" {
			return own
		}
	}
	return advice(reason)
}

// advice explains a reason: what it means and what to do about it. It is zero for an unknown reason.
func advice(reason xpv1.ConditionReason) event.Explanation {
	for _, e := range failure.Explanations() {
		if e.Reason == reason {
			return explain(e.Reason, e.Meaning, e.Action)
		}
	}
	return find(reason, managed.Reasons(), claim.Reasons(), target.Reasons(), providerconfig.Reasons(), class.Reasons(),
		application.Reasons(), applicationresource.Reasons(), controller.Reasons())
}

// find returns the first explanation of a reason. It is zero if there is none.
func find(reason xpv1.ConditionReason, in ...[]event.Explanation) event.Explanation {
	for _, e := range slices.Concat(in...) {
		if xpv1.ConditionReason(e.Reason) == reason {
			return e
		}
	}
	return event.Explanation{}
}

func explain(reason xpv1.ConditionReason, meaning, action string) event.Explanation {
	return event.Explanation{Reason: event.Reason(reason), Meaning: meaning, Action: action}
}

// nextOfFailure returns when a managed resource is reconciled again, for failures that are not simply retried with backoff.
func nextOfFailure() map[xpv1.ConditionReason]string {
	const calls = "As soon as calls to the external system are allowed again."
	return map[xpv1.ConditionReason]string{
		failure.CreateInterrupted:         "Not automatically: manual intervention is needed.",
		failure.ExternalNameLost:          "Not automatically: manual intervention is needed.",
		failure.WaitingForFinalizers:      "As soon as the other finalizers are removed.",
		failure.WaitingForReferences:      "As soon as the object that it refers to can be used.",
		failure.ExternalSystemUnreachable: calls,
		failure.ExternalSystemUntrusted:   calls,
		failure.ExternalSystemThrottled:   calls,
		failure.ExternalSystemRefused:     "As soon as the credentials change, and at intervals without a change.",
	}
}

// WriteText writes an explanation for people, with ages as of now.
func WriteText(w io.Writer, e *Explanation, now time.Time) error {
	out := bufio.NewWriter(w)
	for ; e != nil; e = e.Because {
		e.write(out, now)
		if e.Because != nil {
			fmt.Fprint(out, "\nIts managed resource:\n")
		}
	}
	return out.Flush()
}

func (e *Explanation) write(out *bufio.Writer, now time.Time) {
	fmt.Fprintln(out, e.headline())
	list(out, "Causes:", e.Blockers)
	if e.LastStep != nil {
		fmt.Fprintln(out, "Last step: "+e.LastStep.text(now))
	}
	if e.LastError != nil {
		title := "Last error: "
		if e.LastError.Over {
			title = "Last error, resolved: "
		}
		fmt.Fprintln(out, title+e.LastError.text(now))
	}
	if e.NextTry != "" {
		fmt.Fprintln(out, "Next reconcile: "+inspect.Plain(e.NextTry))
	}
	list(out, "What to do:", e.Actions)
	for _, note := range e.Notes {
		fmt.Fprintln(out, "Note: "+inspect.Plain(note))
	}
}

func (e *Explanation) headline() string {
	state := map[State]string{
		StateFine:     "is fine",
		StateWaiting:  "is waiting",
		StateFailing:  "is failing",
		StatePaused:   "is paused",
		StateDeleting: "is being deleted",
	}[e.State]
	if e.State == StateFailing && e.Ready {
		state = "is ready, but the last reconcile failed"
	}
	if e.Phase != "" {
		state += " (" + e.Phase + ")"
	}
	return inspect.Plain(e.Kind + " " + inspect.Path(e.Namespace, e.Name) + " " + state + ".")
}

func list(out *bufio.Writer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintln(out, title)
	for _, item := range items {
		fmt.Fprintln(out, "  - "+inspect.Plain(item))
	}
}

func (h *Happening) text(now time.Time) string {
	text := h.Message
	if h.Reason != "" {
		text = h.Reason + ": " + text
	}
	if !h.At.IsZero() {
		text = fmt.Sprintf("%s ago (%s), %s", duration.HumanDuration(now.Sub(h.At)), h.At.Local().Format(time.DateTime), text)
	}
	return inspect.Plain(text)
}
