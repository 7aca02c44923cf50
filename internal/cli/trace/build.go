// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// Build follows the chain from a claim or a managed resource.
func Build(ctx context.Context, c *inspect.Cluster, from inspect.Reading) (*Node, error) {
	b := builder{ctx, c}
	switch role := from.Kind.Role(); role {
	case inspect.RoleClaim:
		return b.claim(from), nil
	case inspect.RoleManaged:
		root, _ := b.managed(from, nil)
		return root, nil
	default:
		path := from.Kind.String() + "/" + from.Object.GetName()
		return nil, fmt.Errorf("%s is neither a claim nor a managed resource, where a trace begins; for its state use: bowline why %s",
			path, path)
	}
}

// A builder makes the nodes of one trace.
type builder struct {
	ctx     context.Context
	cluster *inspect.Cluster
}

// claim makes the tree of a claim.
func (b builder) claim(from inspect.Reading) *Node {
	claim := from.Object
	root := nodeOf(inspect.RoleClaim, from.Kind.GroupKind(), "", claim.GetName(), from)
	ref, named := inspect.Reference(claim, "spec", "resourceRef")
	root.add(b.classOf(claim, !named))
	source := publication{presence: inspect.Missing}
	if named {
		var managed *Node
		managed, source = b.served(claim, ref)
		root.add(managed)
	} else {
		root.add(&Node{Role: inspect.RoleManaged, State: StateMissing, Message: "None is created or bound yet."})
	}
	root.add(b.copied(claim, source))
	return root
}

// served makes the tree of the managed resource of a claim.
func (b builder) served(claim *unstructured.Unstructured, ref corev1.ObjectReference) (*Node, publication) {
	r := b.cluster.Follow(b.ctx, ref, claim.GetNamespace())
	if r.Presence == inspect.Present {
		return b.managed(r, claim)
	}
	n := nodeOf(inspect.RoleManaged, ref.GroupVersionKind().GroupKind(), ref.Namespace, ref.Name, r)
	if name := meta.GetExternalName(claim); name != "" {
		n.add(&Node{Role: RoleExternal, Name: name, State: StateUnknown})
	}
	return n, publication{presence: r.Presence}
}

// managed makes the tree of a managed resource. If the trace begins there, its claim and class are children.
func (b builder) managed(r inspect.Reading, claim *unstructured.Unstructured) (*Node, publication) {
	mg, kind := r.Object, r.Kind.GroupKind()
	n := nodeOf(inspect.RoleManaged, kind, "", mg.GetName(), r)
	if claim == nil {
		n.add(b.owner(mg), b.class(mg, "spec", "classRef"))
	} else if wrong := disowned(mg, claim); wrong != "" {
		n.problem(wrong)
	}
	secret, source := b.published(mg)
	n.add(b.config(kind, mg, "spec", "providerConfigRef"), external(mg), secret)
	return n, source
}

// disowned returns the problem of a managed resource that is not bound to the claim that names it.
func disowned(mg, claim *unstructured.Unstructured) string {
	ref, ok := inspect.Reference(mg, "spec", "claimRef")
	switch {
	case !ok:
		return "Its spec.claimRef does not name this claim: it is not bound to it."
	case ref.UID == claim.GetUID():
		return ""
	case ref.Kind == claim.GetKind() && ref.Namespace == claim.GetNamespace() && ref.Name == claim.GetName():
		if ref.UID == "" {
			return "It is reserved for this claim and not bound to it yet."
		}
		return "It belongs to an earlier claim of the same name: an administrator may clear its spec.claimRef."
	default:
		return fmt.Sprintf("It belongs to another claim: %s %s.", ref.Kind, inspect.Path(ref.Namespace, ref.Name))
	}
}

// owner makes the node of the claim of a managed resource.
func (b builder) owner(mg *unstructured.Unstructured) *Node {
	ref, ok := inspect.Reference(mg, "spec", "claimRef")
	if !ok {
		return nil
	}
	r := b.cluster.Follow(b.ctx, ref, mg.GetNamespace())
	n := nodeOf(inspect.RoleClaim, ref.GroupVersionKind().GroupKind(), ref.Namespace, ref.Name, r)
	if r.Presence == inspect.Present && ref.UID != "" && ref.UID != r.Object.GetUID() {
		n.problem("The managed resource belongs to an earlier claim of the same name.")
	}
	if inspect.Text(mg, "status", "bindingPhase") == string(xpv1.BindingPhaseReleased) {
		n.problem("It has released the managed resource, which is kept until an administrator clears its spec.claimRef.")
	}
	return n
}

// classOf makes the node of the class of a claim. Until there is a managed resource, its children are missing objects that it needs.
func (b builder) classOf(claim *unstructured.Unstructured, open bool) *Node {
	n := b.class(claim, "spec", "classRef")
	if n == nil && open {
		return &Node{Role: inspect.RoleClass, State: StateMissing, Message: "None is chosen yet."}
	}
	if n == nil || !open || n.State != StatePresent {
		return n
	}
	ref, _ := inspect.Reference(claim, "spec", "classRef")
	r := b.cluster.Follow(b.ctx, ref, "")
	if r.Presence != inspect.Present {
		return n
	}
	config := b.config(r.Kind.GroupKind(), r.Object, "specTemplate", "providerConfigRef")
	if config != nil && config.State != StateReady && config.State != StatePresent {
		n.add(config)
	}
	n.add(b.lost(inspect.Text(r.Object, "specTemplate", "writeConnectionSecretsToNamespace")))
	return n
}

// class makes the node of the class in a field, nil if there is none.
func (b builder) class(o *unstructured.Unstructured, path ...string) *Node {
	ref, ok := inspect.Reference(o, path...)
	if !ok {
		return nil
	}
	return nodeOf(inspect.RoleClass, ref.GroupVersionKind().GroupKind(), "", ref.Name, b.cluster.Follow(b.ctx, ref, ""))
}

// config makes the node of the provider configuration in a field, nil if there is none. The kind is that of the object that uses it, or
// of a class of such objects.
func (b builder) config(of schema.GroupKind, o *unstructured.Unstructured, path ...string) *Node {
	ref, ok := inspect.Reference(o, path...)
	if !ok {
		return nil
	}
	n := &Node{Role: inspect.RoleProviderConfig, Kind: ref.Kind, Name: ref.Name, State: StateUnknown}
	kind, known := b.cluster.ProviderConfigKind(of, ref.Kind)
	if !known {
		n.problem("the server has no such kind of configuration for this provider")
		return n
	}
	key := types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}
	if !kind.Namespaced {
		key.Namespace = ""
	}
	return nodeOf(inspect.RoleProviderConfig, kind.GroupKind(), key.Namespace, key.Name, b.cluster.Get(b.ctx, kind.GroupKind(), key))
}

// lost makes a node of a namespace that does not exist, nil if it exists or may exist.
func (b builder) lost(namespace string) *Node {
	if namespace == "" || b.cluster.Namespace(b.ctx, namespace).Presence != inspect.Missing {
		return nil
	}
	return &Node{Role: RoleNamespace, Name: namespace, State: StateMissing}
}

// external makes the node of the external resource.
func external(mg *unstructured.Unstructured) *Node {
	n := &Node{Role: RoleExternal, Name: meta.GetExternalName(mg), State: StateUnknown, Reported: reported(mg)}
	ready := inspect.Conditions(mg)
	switch {
	case meta.ExternalCreateIncomplete(mg):
		n.Message = "Its create started at " + mg.GetAnnotations()[meta.AnnotationKeyExternalCreatePending] + ", and its result is not recorded."
	case n.Reported == "" && ready.GetCondition(xpv1.TypeReady).Status != corev1.ConditionTrue:
		n.Message = "The provider has reported nothing about it."
	case ready.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue:
		n.State = StateReady
	case ready.GetCondition(xpv1.TypeReady).Status == corev1.ConditionFalse:
		n.State = StateWaiting
	}
	return n
}

// reported is the state in status.atProvider. Other fields are only for people who may read the managed resource.
func reported(mg *unstructured.Unstructured) (text string) {
	for _, field := range []string{"state", "status", "phase", "health", "message"} {
		word := inspect.Text(mg, "status", "atProvider", field)
		switch {
		case word == "":
		case text == "":
			text = word
		default:
			text += "; " + word
		}
	}
	return text
}
