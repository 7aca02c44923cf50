// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// ClassSuffix is what the kind of a class adds to the kind of what it provides (K29).
const ClassSuffix = "Class"

// A Class is what a choice depends on.
type Class struct {
	Kind    schema.GroupVersionKind
	Name    string
	Labels  labels.Set
	Default bool
	// Namespaces are those whose claims may use the class, by their labels. Nil: all.
	Namespaces *metav1.LabelSelector
}

// newClass reads a class. One whose namespace selector cannot be read allows all namespaces here: package claimbinding checks it.
func newClass(kind schema.GroupVersionKind, o client.Object) Class {
	c := Class{
		Kind:    kind,
		Name:    o.GetName(),
		Labels:  o.GetLabels(),
		Default: o.GetAnnotations()[meta.AnnotationKeyDefaultClass] == "true", // R252
	}
	if u, ok := o.(*unstructured.Unstructured); ok {
		content, ok, err := unstructured.NestedMap(u.Object, "specTemplate", "claims", "namespaceSelector")
		selector := &metav1.LabelSelector{}
		if ok && err == nil && runtime.DefaultUnstructuredConverter.FromUnstructured(content, selector) == nil {
			c.Namespaces = selector
		}
	}
	return c
}

// String names the class in messages.
func (c Class) String() string { return c.Kind.GroupKind().String() + " " + c.Name }

// Admits is true if the class is for claims of namespaces with the labels. One with an invalid selector is for none.
func (c Class) Admits(of labels.Set) bool {
	if c.Namespaces == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(c.Namespaces)
	return err == nil && selector.Matches(of)
}

func compareClasses(a, b Class) int {
	return cmp.Or(cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Name, b.Name))
}

// Classes are all classes for the claims of one kind. They are known while the manager runs.
type Classes struct {
	mgr    manager.Manager
	log    logr.Logger
	claims schema.GroupVersionKind
	own    []schema.GroupVersionKind
	wake   chan struct{} // holds at most one signal to sync
	failed error         // of NewClasses

	// Only sync writes kinds and seen. Informers write the classes of a kind, and the rest.
	mu          sync.Mutex
	definitions map[string]bool // by name: whether their classes are for these claims
	listed      func() bool     // whether definitions holds all of them
	kinds       map[string]*classKind
	seen        map[schema.GroupKind]bool // that a definition ever offered
	changed     bool                      // since the last notification
	listeners   []func() error
}

// NewClasses returns the classes for claims of a kind. The caller's own class kinds count also where their definitions do not name
// the claim kind.
func NewClasses(mgr manager.Manager, claims resource.ClaimKind, own ...resource.ClassKind) *Classes {
	c := &Classes{
		mgr:         mgr,
		log:         mgr.GetLogger().WithValues("claims", schema.GroupVersionKind(claims).GroupKind().String()),
		claims:      schema.GroupVersionKind(claims),
		wake:        make(chan struct{}, 1),
		definitions: map[string]bool{},
		kinds:       map[string]*classKind{},
		seen:        map[schema.GroupKind]bool{},
	}
	for _, k := range own {
		c.own = append(c.own, schema.GroupVersionKind(k))
	}
	c.failed = mgr.Add(manager.RunnableFunc(c.run))
	return c
}

// Source returns a source of requests for the claims that accept is true for, each time when classes changed.
func (c *Classes) Source(accept func(resource.Claim) bool) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.listeners = append(c.listeners, func() error { return c.enqueue(ctx, accept, queue) })
		c.changed = true // this listener missed what was before
		c.signal()
		return nil
	})
}

func (c *Classes) enqueue(ctx context.Context, accept func(resource.Claim) bool, queue workqueue.TypedInterface[reconcile.Request]) error {
	claims, err := objects.List[resource.Claim](ctx, c.mgr.GetClient(), c.mgr.GetScheme(), c.claims, client.UnsafeDisableDeepCopy)
	if err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	for _, claim := range claims {
		if accept(claim) {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(claim)})
		}
	}
	return nil
}

// List returns all classes in the order of choice. It returns an error while not all are known: a choice among some could differ
// from one among all.
func (c *Classes) List() ([]Class, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.incomplete(); err != nil {
		return nil, err
	}
	var all []Class
	for _, k := range c.kinds {
		all = slices.AppendSeq(all, maps.Values(k.classes))
	}
	slices.SortFunc(all, compareClasses)
	return slices.CompactFunc(all, func(a, b Class) bool { return compareClasses(a, b) == 0 }), nil
}

var errNotYet = errors.New("not known yet")

// incomplete returns what is not known yet.
func (c *Classes) incomplete() error {
	if c.failed != nil {
		return fmt.Errorf("looking for classes: %w", c.failed)
	}
	if c.listed == nil || !c.listed() {
		return fmt.Errorf("listing definitions of classes: %w", errNotYet)
	}
	wanted := maps.Clone(c.definitions)
	for _, own := range c.own {
		wanted[nameOfOwn(own)] = !c.seen[own.GroupKind()]
	}
	for name, is := range wanted {
		if is && c.kinds[name] == nil {
			return fmt.Errorf("listing %s: %w", name, errNotYet)
		}
	}
	for name, k := range c.kinds {
		if err := k.incomplete(); err != nil {
			return fmt.Errorf("listing %s: %w", name, err)
		}
	}
	return nil
}

// OffersClass is true if classes of the kind, of whatever version, are for these claims. It returns an error while that is not known.
func (c *Classes) OffersClass(of schema.GroupKind) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kinds {
		if k.gvk.GroupKind() == of {
			return true, nil
		}
	}
	return false, c.incomplete()
}

// OffersResource is true if classes for these claims provide managed resources of the kind.
func (c *Classes) OffersResource(of schema.GroupKind) (bool, error) {
	return c.OffersClass(schema.GroupKind{Group: of.Group, Kind: of.Kind + ClassSuffix})
}

// set replaces what is known of a class, nil if it does not exist or is being deleted.
func (c *Classes) set(k *classKind, name string, now *Class) {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := k.classes[name]
	switch {
	case now == nil && !known, now != nil && known && reflect.DeepEqual(*now, was):
		return
	case now == nil:
		delete(k.classes, name)
	default:
		k.classes[name] = *now
	}
	c.changed = true
	c.signal()
}

// CacheDefinitions has a cache hold of custom resource definitions only those of classes, and of these only which claims they are for.
func CacheDefinitions(o *cache.Options) {
	ofClasses, err := labels.NewRequirement(meta.LabelKeyClaimKind, selection.Exists, nil)
	if err != nil {
		panic(err) // the label key is invalid
	}
	if o.ByObject == nil {
		o.ByObject = map[client.Object]cache.ByObject{}
	}
	o.ByObject[objects.Metadata(definitionKind)] = cache.ByObject{Label: labels.NewSelector().Add(*ofClasses), Transform: strip}
}

// strip keeps of a definition what defined reads.
func strip(o any) (any, error) {
	if crd, ok := o.(*metav1.PartialObjectMetadata); ok {
		crd.ObjectMeta = metav1.ObjectMeta{
			Name:              crd.Name,
			UID:               crd.UID,
			ResourceVersion:   crd.ResourceVersion,
			DeletionTimestamp: crd.DeletionTimestamp,
			Labels:            crd.Labels,
			Annotations:       map[string]string{meta.AnnotationKeyClaimKinds: crd.Annotations[meta.AnnotationKeyClaimKinds]},
		}
	}
	return o, nil
}
