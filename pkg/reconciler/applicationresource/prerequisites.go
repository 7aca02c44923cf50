// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package applicationresource

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/meta"
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
			if !meta.WasDeleted(other) && !isCurrent(other) {
				return flow.AwaitAs(ReasonProgressing, "The object waits for that of KubernetesApplicationResource %q, which defines its namespace or kind.",
					other.Name)
			}
		}
	}
	return flow.Next()
}

// isCurrent is true for a resource whose object is as declared and works, whatever else it has.
func isCurrent(o *workloadv1alpha1.KubernetesApplicationResource) bool {
	return o.Status.CurrentGeneration == o.Generation
}

// dependents returns what other resources of the same application have in a namespace, or of the group of a definition, that is about to be
// deleted: they would be deleted with it, whatever their finalizers are for.
func (r *Reconciler) dependents(ctx context.Context, p *pass, of item) (found []item, err error) {
	if of.Kind != "Namespace" && of.Kind != definitions.Kind {
		return nil, nil
	}
	_, group, _ := strings.Cut(of.Name, ".") // of a definition: <plural>.<group>
	others, err := r.indexed(ctx, p.resource.Namespace, indexTarget+of.Target)
	for _, other := range others {
		if other.UID == p.resource.UID || !meta.HaveSameController(other, p.resource) {
			continue
		}
		for _, one := range other.Status.Inventory {
			inside := of.Kind == "Namespace" && one.Namespace == of.Name || of.Kind == definitions.Kind && groupOf(one.APIVersion) == group
			if inside && one.Target == of.Target {
				found = append(found, one)
			}
		}
	}
	return found, err
}

// siblings returns the other resources of the same application and target with a value in the index.
func (r *Reconciler) siblings(ctx context.Context, p *pass, value string) ([]*workloadv1alpha1.KubernetesApplicationResource, error) {
	found, err := r.indexed(ctx, p.resource.Namespace, value)
	return slices.DeleteFunc(found, func(o *workloadv1alpha1.KubernetesApplicationResource) bool {
		return o.UID == p.resource.UID || !meta.HaveSameController(o, p.resource) || !sameTarget(o, p.resource)
	}), err
}

func sameTarget(a, b *workloadv1alpha1.KubernetesApplicationResource) bool {
	of, other := a.Spec.TargetReference, b.Spec.TargetReference
	return of != nil && other != nil && *of == *other
}
