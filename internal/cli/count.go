// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	managedCategory = "managed"
	countTimeout    = 20 * time.Second
	countPage       = 500 // objects in one answer
)

// countManaged counts the objects of every installed kind of category "managed".
func countManaged(ctx context.Context, kubeconfig string) ([]objects, error) {
	ctx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	c, kinds, err := managedClient(ctx, kubeconfig)
	if err != nil {
		return nil, err
	}
	counted := []objects{}
	for _, kind := range kinds {
		n := objects{Kind: displayName(kind, kinds)}
		err := eachOfKind(ctx, c, kind, func(o *unstructured.Unstructured) {
			n.Total++
			n.Ready += countIf(conditionTrue(o.Object, "Ready"))
			n.Synced += countIf(conditionTrue(o.Object, "Synced"))
		})
		if err != nil {
			return nil, err
		}
		counted = append(counted, n)
	}
	return counted, nil
}

// eachManaged calls visit with every object of every installed kind of category "managed".
func eachManaged(ctx context.Context, kubeconfig string, visit func(*unstructured.Unstructured)) error {
	c, kinds, err := managedClient(ctx, kubeconfig)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := eachOfKind(ctx, c, kind, visit); err != nil {
			return err
		}
	}
	return nil
}

// managedClient returns a client and the managed kinds that its API server has.
func managedClient(ctx context.Context, kubeconfig string) (client.Client, []schema.GroupVersionKind, error) {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("reading kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, nil, fmt.Errorf("registering apiextensions types: %w", err)
	}
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		return nil, nil, fmt.Errorf("creating client: %w", err)
	}
	kinds, err := managedKinds(ctx, c)
	return c, kinds, err
}

// managedKinds returns each kind once, in a version that is served, sorted.
func managedKinds(ctx context.Context, c client.Client) ([]schema.GroupVersionKind, error) {
	var crds apiextensionsv1.CustomResourceDefinitionList
	if err := c.List(ctx, &crds); err != nil {
		return nil, fmt.Errorf("listing custom resource definitions: %w", err)
	}
	var kinds []schema.GroupVersionKind
	for _, definition := range crds.Items {
		if !slices.Contains(definition.Spec.Names.Categories, managedCategory) {
			continue
		}
		for _, v := range definition.Spec.Versions {
			if v.Served {
				kinds = append(kinds, schema.GroupVersionKind{Group: definition.Spec.Group, Version: v.Name, Kind: definition.Spec.Names.Kind})
				break
			}
		}
	}
	sort.Slice(kinds, func(i, j int) bool {
		if kinds[i].Kind != kinds[j].Kind {
			return kinds[i].Kind < kinds[j].Kind
		}
		return kinds[i].Group < kinds[j].Group
	})
	return kinds, nil
}

func displayName(kind schema.GroupVersionKind, all []schema.GroupVersionKind) string {
	for _, other := range all {
		if other.Kind == kind.Kind && other.Group != kind.Group {
			return kind.Kind + "." + kind.Group
		}
	}
	return kind.Kind
}

func eachOfKind(ctx context.Context, c client.Client, kind schema.GroupVersionKind, visit func(*unstructured.Unstructured)) error {
	var page unstructured.UnstructuredList
	page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	for next := ""; ; {
		if err := c.List(ctx, &page, client.Limit(countPage), client.Continue(next)); err != nil {
			return fmt.Errorf("listing %s: %w", kind.GroupKind(), err)
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

func countIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// conditionTrue tells whether an object has a condition of that type with status True.
func conditionTrue(object map[string]any, conditionType string) bool {
	return conditionOf(object, conditionType)["status"] == "True"
}

// conditionOf returns an object's condition of that type, nil if there is none.
func conditionOf(object map[string]any, conditionType string) map[string]any {
	conditions, _, err := unstructured.NestedSlice(object, "status", "conditions")
	if err != nil {
		return nil
	}
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == conditionType {
			return condition
		}
	}
	return nil
}
