// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/internal/cli/inspect"
)

// target makes the tree of a target: the managed resource that it connects to, and its copy of the Secret.
func (b builder) target(from inspect.Reading) *Node {
	n := nodeOf(inspect.RoleTarget, corev1.ObjectReference{}, from)
	ref, ok := inspect.Reference(from.Object, "spec", "clusterRef")
	if !ok {
		return n
	}
	source, r := publication{presence: inspect.Missing}, b.cluster.Follow(b.ctx, ref, "")
	if r.Presence == inspect.Present {
		managed := nodeOf(inspect.RoleManaged, ref, r)
		var secret *Node
		secret, source = b.published(r.Object)
		managed.add(external(r.Object), secret)
		n.add(managed)
	} else {
		source.presence = r.Presence
		n.add(nodeOf(inspect.RoleManaged, ref, r))
	}
	to, ok := inspect.Reference(from.Object, "spec", "connectionSecretRef")
	if !ok {
		return n
	}
	copied, secret, presence := b.secret(types.NamespacedName{Namespace: from.Object.GetNamespace(), Name: to.Name})
	switch {
	case secret == nil && presence == inspect.Missing:
		copied.Message = "It is created when the managed resource permits it: see condition Ready of the target."
	case secret == nil:
	case !metav1.IsControlledBy(secret, from.Object):
		copied.problem("It is not controlled by this target, and is left alone: name another one in a new target.")
	default:
		copied.compare(from.Object, secret, source)
	}
	n.add(copied)
	return n
}

// workload makes the tree of an application, or of one of its resources: the target, and what is in the cluster.
func (b builder) workload(from inspect.Reading) *Node {
	n := nodeOf(inspect.RoleWorkload, corev1.ObjectReference{}, from)
	n.add(b.targetOf(from.Object))
	if from.Kind.Kind != workloadv1alpha1.KubernetesApplicationKind {
		n.remote(from.Object)
		return n
	}
	kind, ok := b.cluster.Kind(workloadv1alpha1.KubernetesApplicationResourceGroupVersionKind.GroupKind())
	if !ok {
		return n
	}
	err := b.cluster.EachIn(b.ctx, kind, from.Object.GetNamespace(), func(o *unstructured.Unstructured) {
		if metav1.IsControlledBy(o, from.Object) {
			child := nodeOf(inspect.RoleWorkload, corev1.ObjectReference{}, inspect.Reading{Presence: inspect.Present, Kind: kind, Object: o})
			child.remote(o)
			n.add(child)
		}
	})
	if err != nil {
		n.problem("Its resources cannot be listed: " + err.Error())
	}
	return n
}

func (b builder) targetOf(o *unstructured.Unstructured) *Node {
	ref, ok := inspect.Reference(o, "spec", "targetRef")
	if !ok {
		return &Node{Role: inspect.RoleTarget, State: StateMissing, Message: "None is chosen yet."}
	}
	key := types.NamespacedName{Namespace: o.GetNamespace(), Name: ref.Name}
	r := b.cluster.Get(b.ctx, workloadv1alpha1.KubernetesTargetGroupVersionKind.GroupKind(), key)
	if r.Presence != inspect.Present {
		ref.APIVersion, ref.Kind = workloadv1alpha1.KubernetesTargetGroupVersionKind.ToAPIVersionAndKind()
		ref.Namespace = key.Namespace
		return nodeOf(inspect.RoleTarget, ref, r)
	}
	return b.target(r)
}

// remote adds the objects that a resource has in clusters, as it last saw them.
func (n *Node) remote(o *unstructured.Unstructured) {
	resource := &workloadv1alpha1.KubernetesApplicationResource{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, resource); err != nil {
		n.problem("Its form is unusual: " + err.Error())
		return
	}
	for _, one := range resource.Status.Inventory {
		child := &Node{Role: RoleExternal, Kind: one.Kind, Group: schema.FromAPIVersionAndKind(one.APIVersion, one.Kind).Group, Namespace: one.Namespace,
			Name: one.Name, State: StateUnknown}
		current := resource.Spec.TargetReference != nil && resource.Spec.TargetReference.Name == one.Target
		switch {
		case one.UID == "":
			child.Message = "It may exist: it was about to be created."
		case !current:
			child.Message = fmt.Sprintf("It is about to be deleted from the cluster of KubernetesTarget %q.", one.Target)
		case one.Copy:
			child.State = StatePresent
		default:
			ready := resource.GetCondition(xpv1.TypeReady)
			child.State = map[corev1.ConditionStatus]State{corev1.ConditionTrue: StateReady, corev1.ConditionFalse: StateWaiting}[ready.Status]
			child.State = cmp.Or(child.State, StateUnknown)
		}
		n.add(child)
	}
}
