// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
)

// definitions are of the kind that objects of other kinds need.
var definitions = schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}

// defines returns what other objects may need of an object: a namespace, or a kind. It is empty for all other objects.
func defines(o *unstructured.Unstructured) string {
	switch {
	case isNamespace(o):
		return "namespace/" + o.GetName()
	case o.GroupVersionKind().GroupKind() == definitions:
		group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(o.Object, "spec", "names", "kind")
		return "kind/" + schema.GroupKind{Group: group, Kind: kind}.String()
	}
	return ""
}

// needs returns what an object needs of others.
func needs(o *unstructured.Unstructured) []string {
	all := []string{"kind/" + o.GroupVersionKind().GroupKind().String()}
	if o.GetNamespace() != "" {
		all = append(all, "namespace/"+o.GetNamespace())
	}
	return all
}

// awaitPrerequisites waits for the objects of the same application that this one needs.
func (r *Reconciler) awaitPrerequisites(ctx context.Context, p *pass) flow.Outcome {
	for _, need := range needs(p.desired) {
		others, err := r.siblings(ctx, p, indexDefines+need)
		if err != nil {
			return fail("reading the other objects of the application", err)
		}
		for _, other := range others {
			if other.Status.State != workloadv1alpha1.ResourceSubmitted || other.GetCondition(xpv1.TypeReady).Status != corev1.ConditionTrue {
				return flow.AwaitAs(ReasonProgressing, "It waits for KubernetesApplicationResource %q, which it needs.", other.Name)
			}
		}
	}
	return flow.Next()
}

// awaitDependents waits until the objects of the same application that need this one are deleted: they would be deleted with it, whatever
// their finalizers are for.
func (r *Reconciler) awaitDependents(ctx context.Context, p *pass) flow.Outcome {
	o, err := read(p.resource)
	if err != nil || defines(o) == "" {
		return flow.Next()
	}
	others, err := r.siblings(ctx, p, indexNeeds+defines(o))
	switch {
	case err != nil:
		return fail("reading the other objects of the application", err)
	case len(others) > 0:
		return flow.AwaitFor(failure.WaitingForDependents, 0, fmt.Sprintf("Deletion waits for %d other objects of the application that need this one, "+
			"such as KubernetesApplicationResource %q.", len(others), others[0].Name))
	}
	return flow.Next()
}

// siblings returns the other resources of the same application and target with a value in the index.
func (r *Reconciler) siblings(ctx context.Context, p *pass, value string) ([]*workloadv1alpha1.KubernetesApplicationResource, error) {
	owner := metav1.GetControllerOf(p.resource)
	if owner == nil {
		return nil, nil
	}
	found, err := r.indexed(ctx, p.resource.Namespace, value)
	return slices.DeleteFunc(found, func(o *workloadv1alpha1.KubernetesApplicationResource) bool {
		return o.UID == p.resource.UID || !metav1.IsControlledBy(o, &metav1.ObjectMeta{UID: owner.UID}) || !sameTarget(o, p.resource)
	}), err
}

func sameTarget(a, b *workloadv1alpha1.KubernetesApplicationResource) bool {
	of, other := a.Spec.TargetReference, b.Spec.TargetReference
	return of != nil && other != nil && *of == *other
}
