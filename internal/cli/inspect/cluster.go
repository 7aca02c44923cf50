// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

const (
	queriesPerSecond = 100 // a person waits for a handful of answers
	pageSize         = 500 // objects in one answer
)

// Kinds of Kubernetes itself.
var (
	secrets    = schema.GroupKind{Kind: "Secret"}
	namespaces = schema.GroupKind{Kind: "Namespace"}
	events     = schema.GroupKind{Kind: "Event"}
)

// A Cluster is an API server as one user sees it.
type Cluster struct {
	client dynamic.Interface
	kinds  []Kind
}

// Connect asks an API server for its kinds.
func Connect(cfg *rest.Config) (*Cluster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS, cfg.Burst = queriesPerSecond, queriesPerSecond
	c, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("creating client: %w", err)
	}
	groups, err := restmapper.GetAPIGroupResources(d)
	if apierrors.IsUnauthorized(err) {
		return nil, errors.New("the API server does not accept the credentials of the kubeconfig: they may have expired; ask whoever gave them " +
			"to you to renew them")
	}
	if err != nil {
		return nil, fmt.Errorf("asking the API server for its kinds: %w", err)
	}
	return &Cluster{client: c, kinds: kindsOf(groups)}, nil
}

// Presence says what came of looking for an object.
type Presence string

// What may come of looking for an object.
const (
	Present    Presence = "present"
	Missing    Presence = "missing"            // there is none of that name
	NoKind     Presence = "kind not installed" // the server does not have such objects
	NoAccess   Presence = "no access"          // this user may not read it, and cannot know whether it exists
	Unreadable Presence = "unreadable"         // the server could not answer
)

// A Reading is what came of looking for an object.
type Reading struct {
	Presence Presence
	Object   *unstructured.Unstructured // nil unless it is present
	Kind     Kind                       // without a name unless the server has it
	Problem  string                     // why it is unreadable
}

// Get looks for the object of a kind, in the version that the server prefers.
func (c *Cluster) Get(ctx context.Context, of schema.GroupKind, key types.NamespacedName) Reading {
	kind, ok := c.Kind(of)
	if !ok {
		return Reading{Presence: NoKind}
	}
	if !kind.Namespaced {
		key.Namespace = ""
	}
	o, err := c.of(kind).Namespace(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	r := Reading{Presence: Present, Object: o, Kind: kind}
	if err != nil {
		r.Object = nil
	}
	switch {
	case apierrors.IsNotFound(err):
		r.Presence = Missing
	case apierrors.IsForbidden(err):
		r.Presence = NoAccess
	case err != nil:
		r.Presence, r.Problem = Unreadable, err.Error()
	}
	return r
}

// Follow looks for what a reference names. Without a namespace it is one of the given namespace.
func (c *Cluster) Follow(ctx context.Context, ref corev1.ObjectReference, namespace string) Reading {
	if ref.Namespace == "" {
		ref.Namespace = namespace
	}
	return c.Get(ctx, ref.GroupVersionKind().GroupKind(), types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
}

// Secret looks for a Secret. Its values are for comparing in memory only.
func (c *Cluster) Secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, Reading) {
	r := c.Get(ctx, secrets, key)
	if r.Presence != Present {
		return nil, r
	}
	secret := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object.Object, secret); err != nil {
		// What is wrong with it may repeat a value.
		return nil, Reading{Presence: Unreadable, Kind: r.Kind, Problem: "it cannot be understood"}
	}
	return secret, r
}

// Namespace looks for a namespace.
func (c *Cluster) Namespace(ctx context.Context, name string) Reading {
	return c.Get(ctx, namespaces, types.NamespacedName{Name: name})
}

// Events returns the events about an object, the oldest first, as far as the API server still has them and this user may read
// them. Those of cluster-scoped objects are in namespace default.
func (c *Cluster) Events(ctx context.Context, about *unstructured.Unstructured) ([]corev1.Event, Presence) {
	kind, ok := c.Kind(events)
	if !ok {
		return nil, NoKind
	}
	namespace := about.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	selector := fields.OneTermEqualSelector("involvedObject.uid", string(about.GetUID()))
	list, err := c.of(kind).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector.String(), Limit: pageSize})
	switch {
	case apierrors.IsForbidden(err):
		return nil, NoAccess
	case err != nil:
		return nil, Unreadable
	}
	var all []corev1.Event
	for _, item := range list.Items {
		var e corev1.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &e); err == nil {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b corev1.Event) int { return When(a).Compare(When(b)) })
	return all, Present
}

// Each calls visit with every object of a kind, in all namespaces.
func (c *Cluster) Each(ctx context.Context, kind Kind, visit func(*unstructured.Unstructured)) error {
	for next := ""; ; {
		page, err := c.of(kind).List(ctx, metav1.ListOptions{Limit: pageSize, Continue: next})
		if err != nil {
			return fmt.Errorf("listing %s: %w", kind, err)
		}
		for i := range page.Items {
			visit(&page.Items[i])
		}
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}

// list returns objects of a kind by field selector, in all namespaces if the given one is empty. It returns one page at most.
func (c *Cluster) list(ctx context.Context, kind Kind, namespace, selector string) ([]unstructured.Unstructured, error) {
	list, err := c.of(kind).Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: selector, Limit: pageSize})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func (c *Cluster) of(kind Kind) dynamic.NamespaceableResourceInterface {
	return c.client.Resource(kind.GroupVersion().WithResource(kind.Resource))
}
