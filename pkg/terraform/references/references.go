// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package references has fields of managed resources of Terraform kinds set by what other objects have, as spec.references says.
package references

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kclient "sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reference"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
)

// An Object is a managed resource of a Terraform kind, whose spec.references say which fields have values of other objects.
type Object struct {
	unstructured.Managed
	scheme *runtime.Scheme
}

// Of returns an object with references. The scheme has the kinds with Go types to which it may refer.
func Of(o *unstructured.Managed, scheme *runtime.Scheme) *Object { return &Object{*o, scheme} }

// DeepCopyObject implements runtime.Object.
func (o *Object) DeepCopyObject() runtime.Object { return &Object{*o.DeepCopy(), o.scheme} }

// A link is an entry of spec.references.
type link struct {
	Field      string       `json:"field"`
	APIVersion string       `json:"apiVersion,omitempty"`
	Kind       string       `json:"kind"`
	Namespace  string       `json:"namespace,omitempty"`
	Name       string       `json:"name"`
	Value      string       `json:"value,omitempty"`
	Policy     *xpv1.Policy `json:"policy,omitempty"`
}

// ResolveReferences sets the fields of spec.forProvider that spec.references name.
func (o *Object) ResolveReferences(ctx context.Context, c kclient.Reader) error {
	var spec struct {
		References []link `json:"references"`
	}
	declared, _, _ := kube.NestedMap(o.Object, "spec")
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(declared, &spec); err != nil {
		return fmt.Errorf("reading spec.references: %w", err)
	}
	resolver := reference.NewAPINamespacedResolver(c, o)
	for i, l := range spec.References {
		if err := o.resolve(ctx, c, resolver, l, fmt.Sprintf("spec.references[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

func (o *Object) resolve(ctx context.Context, c kclient.Reader, resolver *reference.APINamespacedResolver, l link, at string) error {
	kind := schema.FromAPIVersionAndKind(cmp.Or(l.APIVersion, o.GetAPIVersion()), l.Kind)
	target, ok := unstructured.Example(o.scheme, kind).(resource.Managed)
	if isConfig := kind.Kind == xpv1.ProviderConfigKind || kind.Kind == xpv1.ClusterProviderConfigKind; !ok && kinds.IsGroup(kind.Group) && !isConfig {
		target, ok = unstructured.New(kind), true
	}
	if !ok { // the controllers may not list it, and a pass would wait for that
		message := fmt.Sprintf("%s: %s of %s is no managed resource that this control plane has", at, kind.Kind, kind.GroupVersion())
		return failure.Refusal(failure.InvalidSettings, message)
	}
	inOwnNamespace := cmp.Or(l.Namespace, o.GetNamespace()) == o.GetNamespace()
	if kind.GroupKind() == o.GroupVersionKind().GroupKind() && l.Name == o.GetName() && inOwnNamespace {
		return failure.Refusal(failure.InvalidSettings, at+".name: this object refers to itself, and would wait for its own creation: name another one")
	}
	if scopes, ok := c.(scopes); ok && o.GetNamespace() != "" {
		if namespaced, err := scopes.IsObjectNamespaced(target); err == nil && !namespaced { // else the read reports the error
			message := fmt.Sprintf("%s.kind: %s is cluster-scoped, and an object of a namespace refers to objects of its own namespace only", at, kind.Kind)
			return failure.Refusal(failure.InvalidSettings, message)
		}
	}
	request := reference.NamespacedResolutionRequest{
		Reference: &xpv1.NamespacedReference{Namespace: l.Namespace, Name: l.Name, Policy: l.Policy},
		To:        reference.To{Managed: target}, Extract: reference.ExternalName(), FieldPath: at,
	}
	if l.Value != "" {
		request.Extract = reference.FieldPath(l.Value)
	}
	steps := reference.Steps(l.Field)
	root := map[string]any{}
	if spec, ok := o.Object["spec"].(map[string]any); ok {
		root = spec
	}
	forProvider, _ := root["forProvider"].(map[string]any)
	if forProvider == nil {
		forProvider = map[string]any{}
		root["forProvider"] = forProvider
	}
	value, set, err := place(forProvider, steps)
	if err != nil {
		return fmt.Errorf("%s.field: spec.forProvider.%s %w", at, l.Field, err)
	}
	request.CurrentValue = value
	found, err := resolver.Resolve(ctx, request)
	if err == nil && found.ResolvedValue != "" {
		set(found.ResolvedValue)
	}
	return err
}

// scopes is implemented by clients that know the scopes of kinds. Who may write objects of one namespace must not read what others have.
type scopes interface {
	IsObjectNamespaced(runtime.Object) (bool, error)
}

// place returns the text at a path, empty for none, and what sets it. Objects on the path are made; items of lists must exist.
func place(in any, steps []string) (value string, set func(string), err error) {
	step, rest := steps[0], steps[1:]
	switch in := in.(type) {
	case map[string]any:
		if len(rest) == 0 {
			value, _ = in[step].(string)
			return value, func(to string) { in[step] = to }, nil
		}
		if in[step] == nil {
			made := map[string]any{}
			value, inner, err := place(made, rest)
			return value, func(to string) {
				inner(to)
				in[step] = made
			}, err
		}
		return place(in[step], rest)
	case []any:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(in) {
			return "", nil, fmt.Errorf("has no item %s: declare the item, without this field", step)
		}
		if len(rest) == 0 {
			value, _ = in[i].(string)
			return value, func(to string) { in[i] = to }, nil
		}
		return place(in[i], rest)
	default:
		return "", nil, fmt.Errorf("does not exist: %s is neither in an object nor in a list", step)
	}
}
