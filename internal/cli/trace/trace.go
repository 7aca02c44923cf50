// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trace shows the objects behind a claim: class, managed resource, external resource and Secrets.
//
// A trace is a tree of nodes, each with a state and its last message. An object that does not exist or that this user may not read
// is a node too, of state missing or no access. The first node that is not as it should be is the place to look at.
//
// Secrets are compared in memory. Their nodes have the names of keys and never a value.
package trace

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/connection"
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
	Role       inspect.Role `json:"role"`
	Kind       string       `json:"kind,omitempty"`  // in CamelCase; empty for the external resource
	Group      string       `json:"group,omitempty"` // of the kind
	Namespace  string       `json:"namespace,omitempty"`
	Name       string       `json:"name,omitempty"` // empty if there is no object
	State      State        `json:"state"`
	Phase      string       `json:"phase,omitempty"`    // of binding
	Reported   string       `json:"reported,omitempty"` // the state that the external system last reported
	Conditions []Condition  `json:"conditions,omitempty"`
	Message    string       `json:"message,omitempty"`  // the last message of the object about its state
	Problems   []string     `json:"problems,omitempty"` // those of the link from the parent to this node
	Keys       []string     `json:"keys,omitempty"`     // of a Secret
	Children   []*Node      `json:"children,omitempty"`
}

// A Condition is one of a node's conditions.
type Condition struct {
	Type    string    `json:"type"`
	Status  string    `json:"status"`
	Reason  string    `json:"reason,omitempty"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// nodeOf makes a node of an object that should exist: the one that was read, else the one that is referred to.
func nodeOf(role inspect.Role, ref corev1.ObjectReference, r inspect.Reading) *Node {
	of := ref.GroupVersionKind()
	n := &Node{Role: role, Kind: of.Kind, Group: of.Group, Namespace: ref.Namespace, Name: ref.Name, State: State(r.Presence)}
	switch r.Presence {
	case inspect.Present:
		n.Kind, n.Group, n.Namespace, n.Name = r.Kind.Kind, r.Kind.Group, r.Object.GetNamespace(), r.Object.GetName()
		n.describe(r.Object)
	case inspect.NoKind:
		n.problem("the server does not have this kind; check whether the provider is installed")
	case inspect.Unreadable:
		n.Message = r.Problem
	}
	return n
}

func (n *Node) describe(o *unstructured.Unstructured) {
	n.Phase = inspect.Text(o, "status", "bindingPhase")
	status := inspect.Conditions(o)
	first := map[xpv1.ConditionType]int{xpv1.TypeReady: -2, xpv1.TypeSynced: -1} // all objects have these
	slices.SortStableFunc(status.Conditions, func(a, b xpv1.Condition) int { return cmp.Compare(first[a.Type], first[b.Type]) })
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
		n.Message = cmp.Or(n.Message, "It has no condition Ready yet: no controller has reconciled it.")
	}
}

// message is the most relevant message: of a failure, then of a wait, then any.
func message(status xpv1.ConditionedStatus) string {
	other := ""
	for _, t := range []xpv1.ConditionType{xpv1.TypeSynced, xpv1.TypeReady, xpv1.TypeLastAsyncOperation, xpv1.TypeInSync} {
		c := status.GetCondition(t)
		if c.Status == corev1.ConditionFalse && c.Message != "" {
			return c.Message
		}
		other = cmp.Or(other, c.Message)
	}
	return other
}

func (n *Node) add(children ...*Node) {
	n.Children = append(n.Children, slices.DeleteFunc(children, func(c *Node) bool { return c == nil })...)
}

func (n *Node) problem(text string) { n.Problems = append(n.Problems, text) }

// Build follows the chain from a claim, a managed resource, a target or an application.
func Build(ctx context.Context, c *inspect.Cluster, from inspect.Reading) (*Node, error) {
	b := builder{ctx, c}
	switch from.Kind.Role() {
	case inspect.RoleClaim:
		return b.claim(from), nil
	case inspect.RoleManaged:
		root, _ := b.managed(from, nil)
		return root, nil
	case inspect.RoleTarget:
		return b.target(from), nil
	case inspect.RoleWorkload:
		return b.workload(from), nil
	default:
		path := from.Kind.String() + "/" + from.Object.GetName()
		return nil, fmt.Errorf("%s is neither a claim nor a managed resource, target or application, where a trace begins; for its state use: "+
			"bowline why %s", path, path)
	}
}

type builder struct {
	ctx     context.Context
	cluster *inspect.Cluster
}

func (b builder) claim(from inspect.Reading) *Node {
	claim := from.Object
	root := nodeOf(inspect.RoleClaim, corev1.ObjectReference{}, from)
	ref, named := inspect.Reference(claim, "spec", "resourceRef")
	root.add(b.class(claim, !named))
	if !named {
		root.add(&Node{Role: inspect.RoleManaged, State: StateMissing, Message: "None is created or bound yet."},
			b.copied(claim, publication{presence: inspect.Missing}))
		return root
	}
	r := b.cluster.Follow(b.ctx, ref, claim.GetNamespace())
	if r.Presence == inspect.Present {
		managed, source := b.managed(r, claim)
		root.add(managed, b.copied(claim, source))
		return root
	}
	managed := nodeOf(inspect.RoleManaged, ref, r)
	if name := meta.GetExternalName(claim); name != "" {
		managed.add(&Node{Role: RoleExternal, Name: name, State: StateUnknown})
	}
	root.add(managed, b.copied(claim, publication{presence: r.Presence}))
	return root
}

// managed makes the tree of a managed resource. If the trace begins there, its claim and class are children.
func (b builder) managed(r inspect.Reading, claim *unstructured.Unstructured) (*Node, publication) {
	mg := r.Object
	n := nodeOf(inspect.RoleManaged, corev1.ObjectReference{}, r)
	if claim == nil {
		n.add(b.owner(mg), b.class(mg, false))
	} else if wrong := disowned(mg, claim); wrong != "" {
		n.problem(wrong)
	}
	secret, source := b.published(mg)
	n.add(b.config(r.Kind, mg, "spec", "providerConfigRef"), external(mg), secret)
	return n, source
}

func disowned(mg, claim *unstructured.Unstructured) string {
	ref, ok := inspect.Reference(mg, "spec", "claimRef")
	same := ref.Kind == claim.GetKind() && ref.Namespace == claim.GetNamespace() && ref.Name == claim.GetName()
	switch {
	case !ok:
		return "Its spec.claimRef does not name this claim: it is not bound to it."
	case ref.UID == claim.GetUID():
		return ""
	case same && ref.UID == "":
		return "It is reserved for this claim and not bound to it yet."
	case same:
		return "It belongs to an earlier claim of the same name: an administrator may clear its spec.claimRef."
	default:
		return fmt.Sprintf("It belongs to another claim: %s %s.", ref.Kind, inspect.Path(ref.Namespace, ref.Name))
	}
}

func (b builder) owner(mg *unstructured.Unstructured) *Node {
	ref, ok := inspect.Reference(mg, "spec", "claimRef")
	if !ok {
		return nil
	}
	r := b.cluster.Follow(b.ctx, ref, mg.GetNamespace())
	n := nodeOf(inspect.RoleClaim, ref, r)
	if r.Presence == inspect.Present && ref.UID != "" && ref.UID != r.Object.GetUID() {
		n.problem("The managed resource belongs to an earlier claim of the same name.")
	}
	if inspect.Text(mg, "status", "bindingPhase") == string(xpv1.BindingPhaseReleased) {
		n.problem("It has released the managed resource, which is kept until an administrator clears its spec.claimRef.")
	}
	return n
}

// class makes the node of an object's class. Children of a class that is about to be used are missing objects that it needs.
func (b builder) class(o *unstructured.Unstructured, used bool) *Node {
	ref, ok := inspect.Reference(o, "spec", "classRef")
	if !ok && used {
		return &Node{Role: inspect.RoleClass, State: StateMissing, Message: "None is chosen yet."}
	}
	if !ok {
		return nil
	}
	r := b.cluster.Follow(b.ctx, ref, "")
	ref.Namespace = ""
	n := nodeOf(inspect.RoleClass, ref, r)
	if !used || r.Presence != inspect.Present {
		return n
	}
	config := b.config(r.Kind, r.Object, "specTemplate", "providerConfigRef")
	if config != nil && config.State != StateReady && config.State != StatePresent {
		n.add(config)
	}
	n.add(b.lost(inspect.Text(r.Object, "specTemplate", "writeConnectionSecretsToNamespace")))
	return n
}

func (b builder) config(of inspect.Kind, o *unstructured.Unstructured, path ...string) *Node {
	ref, r, ok := b.cluster.ProviderConfig(b.ctx, of, o, path...)
	if !ok {
		return nil
	}
	if r.Presence == inspect.NoKind {
		n := &Node{Role: inspect.RoleProviderConfig, Kind: ref.Kind, Name: ref.Name, State: StateUnknown}
		n.problem("the server has no such kind of configuration for this provider")
		return n
	}
	return nodeOf(inspect.RoleProviderConfig, ref, r)
}

func (b builder) lost(namespace string) *Node {
	if namespace == "" || b.cluster.Namespace(b.ctx, namespace).Presence != inspect.Missing {
		return nil
	}
	return &Node{Role: RoleNamespace, Name: namespace, State: StateMissing}
}

// external takes only the state from status.atProvider: other fields are for people who may read the managed resource.
func external(mg *unstructured.Unstructured) *Node {
	var reported []string
	for _, field := range []string{"state", "status", "phase", "health", "message"} {
		if word := inspect.Text(mg, "status", "atProvider", field); word != "" {
			reported = append(reported, word)
		}
	}
	n := &Node{Role: RoleExternal, Name: meta.GetExternalName(mg), State: StateUnknown, Reported: strings.Join(reported, "; ")}
	conditions := inspect.Conditions(mg)
	ready := conditions.GetCondition(xpv1.TypeReady).Status
	switch {
	case meta.ExternalCreateIncomplete(mg):
		n.Message = "Its create started at " + mg.GetAnnotations()[meta.AnnotationKeyExternalCreatePending] + ", and its result is not recorded."
	case ready == corev1.ConditionTrue:
		n.State = StateReady
	case n.Reported == "":
		n.Message = "The provider has reported nothing about it."
	case ready == corev1.ConditionFalse:
		n.State = StateWaiting
	}
	return n
}

// A publication is the connection Secret of a managed resource, as this user can read it.
type publication struct {
	secret   *corev1.Secret // nil unless it is present
	presence inspect.Presence
}

func (b builder) published(mg *unstructured.Unstructured) (*Node, publication) {
	key, ok := inspect.ConnectionSecret(mg)
	if !ok {
		return nil, publication{presence: inspect.Missing}
	}
	n, secret, presence := b.secret(key)
	switch {
	case secret == nil && presence == inspect.Missing:
		n.Message = "Nothing is published yet."
	case secret != nil && !metav1.IsControlledBy(secret, mg):
		n.problem("It is not controlled by the managed resource, which therefore publishes nothing in it.")
	}
	return n, publication{secret, presence}
}

func (b builder) copied(claim *unstructured.Unstructured, source publication) *Node {
	key, ok := inspect.ConnectionSecret(claim)
	if !ok {
		return nil
	}
	n, secret, presence := b.secret(key)
	switch {
	case secret == nil && presence == inspect.Missing:
		n.Message = "It is created when the claim is bound."
		if inspect.Text(claim, "status", "bindingPhase") == string(xpv1.BindingPhaseBound) {
			n.Message = "It is missing although the claim is bound: it should be created again soon."
		}
	case secret == nil:
	case !metav1.IsControlledBy(secret, claim):
		n.problem("It is not controlled by this claim, and is left alone: name another one in spec.writeConnectionSecretToRef.")
	default:
		n.compare(claim, secret, source)
	}
	return n
}

func (b builder) secret(key types.NamespacedName) (*Node, *corev1.Secret, inspect.Presence) {
	secret, r := b.cluster.Secret(b.ctx, key)
	n := &Node{Role: RoleSecret, Kind: "Secret", Namespace: key.Namespace, Name: key.Name, State: State(r.Presence), Message: r.Problem}
	if secret != nil {
		n.Keys = slices.Sorted(maps.Keys(secret.Data))
		if secret.Type != xpv1.SecretTypeConnection {
			n.problem("It is of type " + string(secret.Type) + ", not a connection Secret.")
		}
	}
	if r.Presence == inspect.Missing && b.lost(key.Namespace) != nil {
		n.problem(fmt.Sprintf("Namespace %q does not exist: create it.", key.Namespace))
	}
	return n, secret, r.Presence
}

// compare checks the content of a claim's Secret. Values are not stored or printed.
func (n *Node) compare(claim *unstructured.Unstructured, have *corev1.Secret, source publication) {
	if source.secret == nil {
		if source.presence != inspect.Missing {
			n.Message = "Without access to the Secret that it is copied from, its content cannot be checked."
			return
		}
		n.State = StateOutOfStep
		n.problem("The Secret that it is copied from does not exist.")
		return
	}
	wanted, err := connection.Content(claim, source.secret.Data)
	if err != nil {
		n.problem(err.Error())
	}
	n.State = StateInStep
	if differences := differences(wanted, have.Data); differences != "" {
		n.State = StateOutOfStep
		n.problem("It differs from the Secret of the managed resource: " + differences + ".")
	}
	if !meta.PropagationAllowed(source.secret, have) {
		n.State = StateOutOfStep
		n.problem("The annotations of the two Secrets do not allow copying changes from one to the other.")
	}
}

func differences(wanted, have map[string][]byte) string {
	expected, found := sets.KeySet(wanted), sets.KeySet(have)
	other := expected.Intersection(found)
	for key := range other {
		if bytes.Equal(wanted[key], have[key]) {
			other.Delete(key)
		}
	}
	var parts []string
	for _, p := range []struct {
		what string
		keys sets.Set[string]
	}{{"different values of ", other}, {"missing ", expected.Difference(found)}, {"additional ", found.Difference(expected)}} {
		if len(p.keys) > 0 {
			parts = append(parts, p.what+strings.Join(sets.List(p.keys), ", "))
		}
	}
	return strings.Join(parts, "; ")
}
