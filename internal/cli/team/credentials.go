// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package team

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// checkNamespace refuses a namespace with Secrets that a configuration, a class or a cluster-scoped managed resource names: a
// team reads all Secrets of the namespace that it works in.
func (a *Accounts) checkNamespace(ctx context.Context, namespace string) error {
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	all, err := a.dynamic.Resource(definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing custom resource definitions: %w", err)
	}
	for _, definition := range all.Items {
		what, ok := keeper(definition)
		if !ok {
			continue
		}
		objects, err := a.dynamic.Resource(what).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // just removed
		}
		if err != nil {
			return fmt.Errorf("listing %s: %w", what.GroupResource(), err)
		}
		for _, o := range objects.Items {
			if keepsSecretsIn(o, namespace) {
				return fmt.Errorf("the team could read what %s %s keeps in the Secrets of namespace %q; give the team a namespace of its own",
					o.GetKind(), o.GetName(), namespace)
			}
		}
	}
	return nil
}

// keeper returns the resource of a definition whose objects may name Secrets of the platform. A namespaced managed resource
// names those of its own namespace only, and whoever made it there meant them for that namespace.
func keeper(definition unstructured.Unstructured) (schema.GroupVersionResource, bool) {
	categories, _, _ := unstructured.NestedStringSlice(definition.Object, "spec", "names", "categories")
	scope, _, _ := unstructured.NestedString(definition.Object, "spec", "scope")
	is := func(category string) bool { return slices.Contains(categories, category) }
	if !is("classes") && !is("provider") && !(is("managed") && scope == "Cluster") {
		return schema.GroupVersionResource{}, false
	}
	what := schema.GroupVersionResource{}
	what.Group, _, _ = unstructured.NestedString(definition.Object, "spec", "group")
	what.Resource, _, _ = unstructured.NestedString(definition.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok && version["served"] == true {
			what.Version, _ = version["name"].(string)
		}
	}
	return what, what.Version != ""
}

// keepsSecretsIn tells whether an object names Secrets of a namespace: as references, which say the namespace or mean that of
// the object, or as the place for Secrets to come.
func keepsSecretsIn(o unstructured.Unstructured, namespace string) bool {
	var named func(value any) bool
	named = func(value any) bool {
		switch v := value.(type) {
		case []any:
			return slices.ContainsFunc(v, named)
		case map[string]any:
			for key, inner := range v {
				if key == "writeConnectionSecretsToNamespace" && inner == namespace || named(inner) {
					return true
				}
				reference, isMap := inner.(map[string]any)
				if !isMap || !namesSecret(key) {
					continue
				}
				if in, ok := reference["namespace"]; in == namespace || !ok && o.GetNamespace() == namespace {
					return true
				}
			}
		}
		return false
	}
	return named(o.Object["spec"]) || named(o.Object["specTemplate"])
}

// namesSecret tells by its key whether a reference is one to a Secret, be it to read (passwordSecretRef) or to write
// (writeConnectionSecretToRef).
func namesSecret(key string) bool {
	key = strings.ToLower(key)
	return strings.HasSuffix(key, "secretref") || strings.HasSuffix(key, "secrettoref")
}
