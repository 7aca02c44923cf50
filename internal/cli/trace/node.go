// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// Roles beside those of package inspect.
const (
	RoleExternal  inspect.Role = "external resource"
	RoleSecret    inspect.Role = "secret"
	RoleNamespace inspect.Role = "namespace"
)

// A State is the state of a node in one word.
type State string

// States of nodes. Those of absent objects are values of inspect.Presence.
const (
	StateReady     State = "ready"
	StateWaiting   State = "waiting" // for what its message names
	StateFailing   State = "failing" // the last reconcile failed
	StatePaused    State = "paused"
	StateDeleting  State = "deleting"
	StateUnknown   State = "unknown"
	StateInStep    State = "in step"     // a Secret with the right content
	StateOutOfStep State = "out of step" // a Secret with other content
	StatePresent         = State(inspect.Present)
	StateMissing         = State(inspect.Missing)
	StateNoAccess        = State(inspect.NoAccess)
)

// A Node is one object of a trace. The keys of its JSON are an interface.
type Node struct {
	Role      inspect.Role `json:"role"`
	Kind      string       `json:"kind,omitempty"`  // in CamelCase; empty for the external resource
	Group     string       `json:"group,omitempty"` // of the kind
	Namespace string       `json:"namespace,omitempty"`
	Name      string       `json:"name,omitempty"` // empty if there is no object
	State     State        `json:"state"`
	Phase     string       `json:"phase,omitempty"` // of binding
	// Reported is the state that the external system last reported.
	Reported   string      `json:"reported,omitempty"`
	Conditions []Condition `json:"conditions,omitempty"`
	// Message is the last message of the object about its state.
	Message string `json:"message,omitempty"`
	// Problems are those of the link from the parent to this node.
	Problems []string `json:"problems,omitempty"`
	// Keys that a Secret has.
	Keys     []string `json:"keys,omitempty"`
	Children []*Node  `json:"children,omitempty"`
}

// A Condition is one of a node's conditions.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// nodeOf makes a node of an object that should exist.
func nodeOf(role inspect.Role, of schema.GroupKind, namespace, name string, r inspect.Reading) *Node {
	n := &Node{Role: role, Kind: of.Kind, Group: of.Group, Namespace: namespace, Name: name, State: State(r.Presence)}
	switch r.Presence {
	case inspect.Present:
		n.Namespace = r.Object.GetNamespace()
		n.describe(r.Object)
	case inspect.NoKind:
		n.Problems = append(n.Problems, "the server does not have this kind; check whether the provider is installed")
	case inspect.Unreadable:
		n.Message = r.Problem
	}
	return n
}

// describe sets state, phase, conditions and message from an object.
func (n *Node) describe(o *unstructured.Unstructured) {
	n.Phase = inspect.Text(o, "status", "bindingPhase")
	status := inspect.Conditions(o)
	slices.SortStableFunc(status.Conditions, func(a, b xpv1.Condition) int { return cmp.Compare(rank(a), rank(b)) })
	for _, c := range status.Conditions {
		n.Conditions = append(n.Conditions, Condition{
			Type: string(c.Type), Status: string(c.Status), Reason: string(c.Reason), Message: c.Message, Since: c.LastTransitionTime.UTC(),
		})
	}
	ready, synced := status.GetCondition(xpv1.TypeReady), status.GetCondition(xpv1.TypeSynced)
	n.Message = message(status)
	switch {
	case meta.WasDeleted(o):
		n.State = StateDeleting
	case synced.Status == corev1.ConditionFalse && synced.Reason == xpv1.ReasonReconcilePaused:
		n.State = StatePaused
	case synced.Status == corev1.ConditionFalse:
		n.State = StateFailing
	case ready.Status == corev1.ConditionTrue:
		n.State = StateReady
	case ready.Status == corev1.ConditionFalse:
		n.State = StateWaiting
	case n.Role == inspect.RoleClaim || n.Role == inspect.RoleManaged:
		n.State = StateWaiting
		if n.Message == "" {
			n.Message = "It has no condition Ready yet: no controller has reconciled it."
		}
	}
}

// rank sorts the conditions that all objects have first.
func rank(c xpv1.Condition) int {
	switch c.Type {
	case xpv1.TypeReady:
		return 0
	case xpv1.TypeSynced:
		return 1
	default:
		return 2
	}
}

// message is the most relevant message: of a failure, then of a wait, then any.
func message(status xpv1.ConditionedStatus) string {
	order := []xpv1.ConditionType{xpv1.TypeSynced, xpv1.TypeReady, xpv1.TypeLastAsyncOperation, xpv1.TypeInSync}
	for _, t := range order {
		if c := status.GetCondition(t); c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Message
		}
	}
	for _, t := range order {
		if c := status.GetCondition(t); c.Message != "" {
			return c.Message
		}
	}
	return ""
}

// add appends a child, unless there is none.
func (n *Node) add(children ...*Node) {
	n.Children = append(n.Children, slices.DeleteFunc(children, func(c *Node) bool { return c == nil })...)
}

// problem adds a problem of the link to the node.
func (n *Node) problem(text string) { n.Problems = append(n.Problems, text) }
