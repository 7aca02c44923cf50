// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
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
	Ready     bool         `json:"ready"`           // whether the object can be used
	Phase     string       `json:"phase,omitempty"` // of binding
	// Blockers are the causes of the state, each a sentence.
	Blockers []string `json:"blockers,omitempty"`
	// LastStep is the last change of the object's state.
	LastStep *Happening `json:"lastStep,omitempty"`
	// LastError is the last failure with its reason.
	LastError *Happening `json:"lastError,omitempty"`
	// NextTry tells when the object is reconciled again.
	NextTry string `json:"nextTry,omitempty"`
	// Actions are what a person can do.
	Actions []string `json:"whatToDo,omitempty"`
	// Notes name what could not be read.
	Notes []string `json:"notes,omitempty"`
	// Because explains the managed resource of a claim.
	Because *Explanation `json:"because,omitempty"`
}

// A Happening is a step or an error.
type Happening struct {
	At      time.Time `json:"at,omitzero"`
	Reason  string    `json:"reason,omitempty"` // see docs/reasons.md
	Message string    `json:"message"`
	Over    bool      `json:"over,omitempty"` // of an error: no condition reports it any more
}

// Explain explains an object that was found.
func Explain(ctx context.Context, c *inspect.Cluster, of inspect.Reading) *Explanation {
	o, role := of.Object, of.Kind.Role()
	q := &inquiry{
		ctx: ctx, cluster: c, kind: of.Kind, object: o, status: inspect.Conditions(o),
		Explanation: &Explanation{Role: role, Kind: of.Kind.Kind, Group: of.Kind.Group, Namespace: o.GetNamespace(), Name: o.GetName()},
	}
	q.ready, q.synced, q.failure = q.status.GetCondition(xpv1.TypeReady), q.status.GetCondition(xpv1.TypeSynced), xpv1.FailureOf(&q.status)
	q.State, q.Ready, q.Phase = q.state(), q.ready.Status == corev1.ConditionTrue, inspect.Text(o, "status", "bindingPhase")
	q.readHistory()
	checks, next := q.otherChecks(), func() string { return "" }
	switch role {
	case inspect.RoleClaim:
		checks, next = q.claimChecks(), q.nextOfClaim
	case inspect.RoleManaged:
		checks, next = q.managedChecks(), q.nextOfManaged
	case inspect.RoleProviderConfig:
		checks = q.configChecks()
	}
	for _, check := range checks {
		check()
	}
	if q.State == StateFine && len(q.Blockers) > 0 {
		q.State = StateWaiting
	}
	q.NextTry = next()
	return q.Explanation
}

// An inquiry is an explanation in the making, with what was read for it.
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

// state derives the state from conditions.
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

// failing reports whether the last reconcile failed.
func (q *inquiry) failing() bool {
	return q.synced.Status == corev1.ConditionFalse && q.synced.Reason != xpv1.ReasonReconcilePaused
}

// unseen reports whether no controller has written a condition of a claim or managed resource.
func (q *inquiry) unseen() bool {
	return (q.Role == inspect.RoleClaim || q.Role == inspect.RoleManaged) && q.ready.Reason == "" && q.synced.Reason == ""
}

// blocked adds a cause, and what a person can do about it. Both may be empty.
func (q *inquiry) blocked(cause, action string) {
	if cause != "" && !slices.Contains(q.Blockers, cause) {
		q.Blockers = append(q.Blockers, cause)
	}
	q.advise(action)
}

// advise adds what a person can do.
func (q *inquiry) advise(action string) {
	if action != "" && !slices.Contains(q.Actions, action) {
		q.Actions = append(q.Actions, action)
	}
}

// address is the object on a command line of kubectl.
func (q *inquiry) address() string {
	text := q.kind.String() + " " + q.Name
	if q.Namespace != "" {
		text += " -n " + q.Namespace
	}
	return text
}
