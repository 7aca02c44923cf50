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
	queriesPerSecond = 100 // for one person and a few dozen requests
	pageSize         = 500 // objects in one response
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

// Connect discovers the kinds of an API server.
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
		return nil, errors.New("the API server does not accept the credentials of the kubeconfig, which may have expired; ask your platform team " +
			"for new ones")
	}
	if err != nil {
		return nil, fmt.Errorf("discovering kinds: %w", err)
	}
	return &Cluster{client: c, kinds: kindsOf(groups)}, nil
}

// Presence is the result of reading an object.
type Presence string

// Results of reading an object.
const (
	Present    Presence = "present"
	Missing    Presence = "missing"            // no object has that name
	NoKind     Presence = "kind not installed" // the server does not have the kind
	NoAccess   Presence = "no access"          // this user may not read it, so it may or may not exist
	Unreadable Presence = "unreadable"         // the request failed
)

// A Reading is an object as one user can read it.
type Reading struct {
	Presence Presence
	Object   *unstructured.Unstructured // nil unless it is present
	Kind     Kind                       // zero if the server does not have it
	Problem  string                     // error of an unreadable object
}

// Get reads an object in the version that the server prefers.
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

// Follow reads the object of a reference. A reference without a namespace uses the given one.
func (c *Cluster) Follow(ctx context.Context, ref corev1.ObjectReference, namespace string) Reading {
	if ref.Namespace == "" {
		ref.Namespace = namespace
	}
	return c.Get(ctx, ref.GroupVersionKind().GroupKind(), types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
}

// Secret reads a Secret. Its values must only be compared in memory.
func (c *Cluster) Secret(ctx context.Context, key types.NamespacedName) (*corev1.Secret, Reading) {
	r := c.Get(ctx, secrets, key)
	if r.Presence != Present {
		return nil, r
	}
	secret := &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object.Object, secret); err != nil {
		// The error may contain a value.
		return nil, Reading{Presence: Unreadable, Kind: r.Kind, Problem: "it cannot be decoded"}
	}
	return secret, r
}

// Namespace reads a namespace.
func (c *Cluster) Namespace(ctx context.Context, name string) Reading {
	return c.Get(ctx, namespaces, types.NamespacedName{Name: name})
}

// Events returns the events of an object, the oldest first. The server keeps them for an hour; those of cluster-scoped objects are in
// namespace default.
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
