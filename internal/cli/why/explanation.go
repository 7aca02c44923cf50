// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// A State says in a word how an object fares.
type State string

// States of objects.
const (
	StateFine     State = "fine" // it waits for nothing
	StateWaiting  State = "waiting"
	StateFailing  State = "failing" // the last pass over it failed
	StatePaused   State = "paused"
	StateDeleting State = "deleting"
)

// An Explanation says what an object waits for. The keys of its JSON are an interface.
type Explanation struct {
	Role      inspect.Role `json:"role"`
	Kind      string       `json:"kind"` // in CamelCase
	Group     string       `json:"group,omitempty"`
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name"`
	State     State        `json:"state"`
	Ready     bool         `json:"ready"`           // whether it can be used
	Phase     string       `json:"phase,omitempty"` // of binding
	// Blockers are what is in the way, each a sentence.
	Blockers []string `json:"blockers,omitempty"`
	// LastStep is the last that was done with the object.
	LastStep *Happening `json:"lastStep,omitempty"`
	// LastError is what went wrong last, and its code. It is over unless the object still says so.
	LastError *Happening `json:"lastError,omitempty"`
	// NextTry says what has the object looked at again.
	NextTry string `json:"nextTry,omitempty"`
	// Actions are what a person can do.
	Actions []string `json:"whatToDo,omitempty"`
	// Notes say what could not be found out.
	Notes []string `json:"notes,omitempty"`
	// Because is the explanation of the managed resource of a claim.
	Because *Explanation `json:"because,omitempty"`
}

// A Happening is a step or an error.
type Happening struct {
	At      time.Time `json:"at,omitzero"`
	Reason  string    `json:"reason,omitempty"` // its code, see docs/reasons.md
	Message string    `json:"message"`
	Over    bool      `json:"over,omitempty"` // of an error: the object does not say so any more
}

// Explain explains an object that was found.
func Explain(ctx context.Context, c *inspect.Cluster, of inspect.Reading) *Explanation {
	o, role := of.Object, of.Kind.Role()
	q := &inquiry{
		ctx: ctx, cluster: c, kind: of.Kind, object: o, status: inspect.Conditions(o),
		Explanation: &Explanation{Role: role, Kind: of.Kind.Kind, Group: of.Kind.Group, Namespace: o.GetNamespace(), Name: o.GetName()},
	}
	q.ready, q.synced = q.status.GetCondition(xpv1.TypeReady), q.status.GetCondition(xpv1.TypeSynced)
	checks := q.otherChecks()
	switch role {
	case inspect.RoleClaim:
		checks = q.claimChecks()
	case inspect.RoleManaged:
		checks = q.managedChecks()
	case inspect.RoleProviderConfig:
		checks = q.configChecks()
	}
	q.State, q.Ready, q.Phase = q.state(), q.ready.Status == corev1.ConditionTrue, inspect.Text(o, "status", "bindingPhase")
	q.recall()
	for _, check := range checks {
		check()
	}
	if q.State == StateFine && len(q.Blockers) > 0 {
		q.State = StateWaiting
	}
	q.NextTry = q.next()
	return q.Explanation
}

// An inquiry is what is known while an object is being explained.
type inquiry struct {
	*Explanation

	ctx     context.Context
	cluster *inspect.Cluster
	kind    inspect.Kind
	object  *unstructured.Unstructured
	status  xpv1.ConditionedStatus
	ready   xpv1.Condition
	synced  xpv1.Condition
	config  *unstructured.Unstructured // the provider configuration, if it could be read
}

// state is how the object fares as its conditions have it.
func (q *inquiry) state() State {
	switch {
	case meta.WasDeleted(q.object):
		return StateDeleting
	case q.paused() != "":
		return StatePaused
	case q.failing():
		return StateFailing
	case q.ready.Status == corev1.ConditionFalse, q.unseen():
		return StateWaiting
	default:
		return StateFine
	}
}

// failing is true if the last pass over the object failed.
func (q *inquiry) failing() bool {
	return q.synced.Status == corev1.ConditionFalse && q.synced.Reason != xpv1.ReasonReconcilePaused
}

// unseen is true for a claim or managed resource of which no controller has said anything.
func (q *inquiry) unseen() bool {
	looked := q.ready.Reason != "" || q.synced.Reason != ""
	return (q.Role == inspect.RoleClaim || q.Role == inspect.RoleManaged) && !looked
}

// blocked notes what is in the way, and what a person can do about it, empty for nothing.
func (q *inquiry) blocked(what, action string) {
	if what != "" && !slices.Contains(q.Blockers, what) {
		q.Blockers = append(q.Blockers, what)
	}
	q.advise(action)
}

// advise notes what a person can do.
func (q *inquiry) advise(action string) {
	if action != "" && !slices.Contains(q.Actions, action) {
		q.Actions = append(q.Actions, action)
	}
}

// told is true if a blocker names something already.
func (q *inquiry) told(name string) bool {
	return slices.ContainsFunc(q.Blockers, func(b string) bool { return strings.Contains(b, name) })
}

// address is how a person names the object on a command line.
func (q *inquiry) address() string {
	text := q.kind.String() + " " + q.Name
	if q.Namespace != "" {
		text += " -n " + q.Namespace
	}
	return text
}
