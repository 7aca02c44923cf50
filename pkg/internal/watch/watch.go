// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watch holds what controllers learn while they run, and the watches that follow from it: the kinds that objects refer to,
// the objects that others wait for, and the classes that exist.
//
// Nothing here is stored. A new process learns it again in its first passes.
package watch

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// Needs finds the objects of one kind that wait for others. An index of the cache has each object under what it needs.
type Needs struct {
	Client client.Client
	Kind   schema.GroupVersionKind
	Index  string // each controller has its own
}

// SecretKind is the kind of Secrets.
var SecretKind = schema.GroupKind{Kind: "Secret"}

// Need is the value of the index for an object that is needed.
func Need(of schema.GroupKind, name string) string { return of.String() + "/" + name }

// On returns requests for the objects that need one of a kind.
func (n Needs) On(ctx context.Context, of schema.GroupKind, name string, o ...client.ListOption) (requests []reconcile.Request) {
	o = append(o, client.MatchingFields{n.Index: Need(of, name)}, client.UnsafeDisableDeepCopy)
	all, err := objects.List[client.Object](ctx, n.Client, n.Client.Scheme(), n.Kind, o...)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot list objects", "kind", n.Kind.GroupKind().String(), "index", n.Index)
	}
	for _, one := range all {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(one)})
	}
	return requests
}

// Enqueue returns a handler that enqueues the objects that need the one of an event.
func (n Needs) Enqueue(of schema.GroupKind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		return n.On(ctx, of, o.GetName())
	})
}

// OnSecret returns requests for the objects that depend on a connection Secret: the one that controls it, those that need the managed
// resource that controls it, and those that give its name.
func (n Needs) OnSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	requests := n.On(ctx, SecretKind, secret.GetName(), client.InNamespace(secret.GetNamespace()))
	owner := metav1.GetControllerOf(secret)
	if owner == nil {
		return requests
	}
	kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
	if kind == n.Kind.GroupKind() {
		return append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: secret.GetNamespace(), Name: owner.Name}})
	}
	return append(requests, n.On(ctx, kind, owner.Name)...)
}

// OnDemand are the watches of one controller that begin with the first object that refers to their kind, so that kinds which
// nothing refers to cost nothing. The zero value watches nothing.
type OnDemand struct {
	mu         sync.Mutex
	controller controller.Controller
	cache      cache.Cache
	kinds      map[schema.GroupVersionKind]struct{}
}

// Build builds the controller of a reconciler, and has later calls of Watch take effect.
func (w *OnDemand) Build(mgr manager.Manager, b *builder.Builder, r reconcile.Reconciler) error {
	c, err := b.Build(r)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.controller, w.cache, w.kinds = c, mgr.GetCache(), map[schema.GroupVersionKind]struct{}{}
	return nil
}

// Begun reports whether Build was called: it is not by a controller that the caller puts together without SetupWithManager.
func (w *OnDemand) Begun() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.controller != nil
}

// Watch watches objects like the given one, unless it does already. The handler receives those that exist first.
func (w *OnDemand) Watch(kind schema.GroupVersionKind, like client.Object, h handler.EventHandler) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.kinds[kind]; known || w.controller == nil {
		return nil
	}
	if err := w.controller.Watch(source.Kind(w.cache, like, h)); err != nil {
		return err
	}
	w.kinds[kind] = struct{}{}
	return nil
}

// claimCategory is the category of all claim kinds.
const claimCategory = "claim"

// Claims reads the metadata of claims of kinds that become known from owner references. Anyone who may write a Secret can write
// these, so that no kind is watched before the API server confirmed that it is one of claims.
type Claims struct {
	mgr manager.Manager

	mu      sync.Mutex
	changed func(before, after *metav1.PartialObjectMetadata) // nil before Notify
	kinds   map[schema.GroupVersionKind]claimKind             // that are served
}

// A claimKind is what is known of a kind. Without Notify there is no informer.
type claimKind struct {
	isClaim  bool // not a target, for example
	informer cache.Informer
}

// NewClaims returns Claims that read with the clients of a manager.
func NewClaims(mgr manager.Manager) *Claims {
	return &Claims{mgr: mgr, kinds: map[schema.GroupVersionKind]claimKind{}}
}

// Notify watches the claims of all kinds that become known from now on. before is nil for a claim that appears.
func (c *Claims) Notify(changed func(before, after *metav1.PartialObjectMetadata)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changed = changed
}

// ControllerOf returns the metadata of the claim that controls an object, from the cache where that has it. The result is empty
// if nothing or an object of another kind controls it.
func (c *Claims) ControllerOf(ctx context.Context, o client.Object) (*metav1.PartialObjectMetadata, error) {
	claim, err := c.read(ctx, o, false)
	if err != nil { // the cache may be behind
		return c.LiveControllerOf(ctx, o)
	}
	return claim, nil
}

// LiveControllerOf is ControllerOf, from the API server.
func (c *Claims) LiveControllerOf(ctx context.Context, o client.Object) (*metav1.PartialObjectMetadata, error) {
	return c.read(ctx, o, true)
}

func (c *Claims) read(ctx context.Context, o client.Object, live bool) (*metav1.PartialObjectMetadata, error) {
	ref := metav1.GetControllerOf(o)
	if ref == nil {
		return &metav1.PartialObjectMetadata{}, nil
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	known, err := c.learn(ctx, kind)
	if err != nil || !known.isClaim {
		return &metav1.PartialObjectMetadata{}, err
	}
	from, claim := c.mgr.GetAPIReader(), objects.Metadata(kind)
	if !live && known.informer != nil && known.informer.HasSynced() {
		from = c.mgr.GetCache()
	}
	return claim, from.Get(ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: ref.Name}, claim)
}

// learn finds out whether a kind is one of claims, and watches its objects.
func (c *Claims) learn(ctx context.Context, kind schema.GroupVersionKind) (k claimKind, err error) {
	c.mu.Lock()
	k, known := c.kinds[kind]
	c.mu.Unlock()
	if known {
		return k, nil
	}
	isClaim, served, err := c.discover(kind)
	if err != nil || !served {
		return k, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, known := c.kinds[kind]; known {
		return k, nil
	}
	k.isClaim = isClaim
	if isClaim && c.changed != nil {
		if k.informer, err = c.watch(ctx, kind); err != nil {
			return claimKind{}, fmt.Errorf("watching %s: %w", kind.GroupKind(), err)
		}
	}
	c.kinds[kind] = k
	return k, nil
}

// discover asks the API server whether a kind is one of claims, and whether it is served at all.
func (c *Claims) discover(kind schema.GroupVersionKind) (isClaim, served bool, err error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(c.mgr.GetConfig(), c.mgr.GetHTTPClient())
	if err != nil {
		return false, false, fmt.Errorf("creating a discovery client: %w", err)
	}
	all, err := d.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return false, false, client.IgnoreNotFound(err)
	}
	for _, r := range all.APIResources {
		served = served || r.Kind == kind.Kind
		isClaim = isClaim || r.Kind == kind.Kind && r.Namespaced && slices.Contains(r.Categories, claimCategory)
	}
	return isClaim, served, nil
}

// watch does not wait for the first list, which the API server may refuse forever: until then claims are read without the cache.
func (c *Claims) watch(ctx context.Context, kind schema.GroupVersionKind) (cache.Informer, error) {
	informer, err := c.mgr.GetCache().GetInformer(ctx, objects.Metadata(kind), cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	changed := c.changed
	notify := func(before, after any) {
		was, _ := before.(*metav1.PartialObjectMetadata)
		if is, ok := after.(*metav1.PartialObjectMetadata); ok {
			changed(was, is)
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { notify(nil, o) }, // it may have changed between the last read and the first list
		UpdateFunc: notify,
	})
	return informer, err
}
