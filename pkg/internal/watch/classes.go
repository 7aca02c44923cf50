// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// ClassSuffix is what the kind of a class adds to the kind of what it provides (K29).
const ClassSuffix = "Class"

// Classes are all classes for the claims of one kind. They are known while the manager runs.
type Classes struct {
	mgr    manager.Manager
	log    logr.Logger
	claims schema.GroupVersionKind
	own    map[string]schema.GroupVersionKind // by a name that no definition has
	wake   chan struct{}                      // holds at most one signal to sync

	// Only sync writes kinds. Informers write the classes of a kind, and the rest.
	mu          sync.Mutex
	definitions map[string]bool // by name: whether their classes are for these claims. An own kind has one until another offers it
	listed      func() bool     // whether definitions holds all of them
	kinds       map[string]*classKind
	idle        map[string]schema.GroupVersionKind // those that were for these claims and have a definition: their informers end with it
	changed     bool                               // since the last notification
	listeners   []func() error
}

// NewClasses returns the classes for claims of a kind. Own class kinds count also where their definitions do not name that kind.
func NewClasses(mgr manager.Manager, claims resource.ClaimKind, own ...resource.ClassKind) *Classes {
	c := &Classes{
		mgr:         mgr,
		log:         mgr.GetLogger().WithValues("claims", schema.GroupVersionKind(claims).GroupKind().String()),
		claims:      schema.GroupVersionKind(claims),
		own:         map[string]schema.GroupVersionKind{},
		wake:        make(chan struct{}, 1),
		definitions: map[string]bool{},
		kinds:       map[string]*classKind{},
		idle:        map[string]schema.GroupVersionKind{},
	}
	for _, k := range own {
		name := nameOfOwn(schema.GroupVersionKind(k))
		c.own[name], c.definitions[name] = schema.GroupVersionKind(k), true
	}
	_ = mgr.Add(manager.RunnableFunc(c.run)) // fails only where the manager has ended
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

// List returns all classes in the order of choice, or an error while not all are known: a choice among some could differ.
func (c *Classes) List() ([]Class, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.incomplete(); err != nil {
		return nil, err
	}
	var all []Class
	for _, k := range c.kinds {
		for _, class := range k.classes {
			all = append(all, *class)
		}
	}
	slices.SortFunc(all, compareClasses)
	return slices.CompactFunc(all, func(a, b Class) bool { return compareClasses(a, b) == 0 }), nil
}

var errNotYet = errors.New("not known yet")

// incomplete returns what is not known yet. Another user of a shared informer may have stopped it: then it is opened again.
func (c *Classes) incomplete() error {
	if c.listed == nil {
		c.signal()
	}
	if c.listed == nil || !c.listed() {
		return fmt.Errorf("listing definitions of classes: %w", errNotYet)
	}
	for name, offers := range c.definitions {
		if offers && c.kinds[name] == nil {
			return fmt.Errorf("listing %s: %w", name, errNotYet)
		}
	}
	for name, k := range c.kinds {
		if err := k.incomplete(); err != nil {
			if k.informer != nil && !k.usable() {
				c.signal()
			}
			return fmt.Errorf("listing %s: %w", name, err)
		}
	}
	return nil
}

// OffersClass is true if classes of the kind, of whatever version, are for these claims. It returns an error while that is not known.
func (c *Classes) OffersClass(of schema.GroupKind) (bool, error) {
	return c.offers(func(k schema.GroupKind) bool { return k == of })
}

func (c *Classes) offers(matches func(schema.GroupKind) bool) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range c.kinds {
		if matches(k.gvk.GroupKind()) {
			return true, nil
		}
	}
	return false, c.incomplete()
}

// Offered is true if a provider has classes for these claims, also if there is none yet.
func (c *Classes) Offered() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.kinds) > 0
}

// OffersResource is true if classes for these claims provide managed resources of the kind: those of the kind that is named after it, and
// those of a group above, whose classes name the kind.
func (c *Classes) OffersResource(of schema.GroupKind) (bool, error) {
	return c.offers(func(k schema.GroupKind) bool {
		above := strings.HasSuffix(of.Group, "."+k.Group) && of.Kind != xpv1.ProviderConfigKind
		return above || k == schema.GroupKind{Group: of.Group, Kind: of.Kind + ClassSuffix}
	})
}

// set replaces what is known of a class, nil if it does not exist or is being deleted.
func (c *Classes) set(k *classKind, name string, now *Class) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if reflect.DeepEqual(k.classes[name], now) {
		return
	}
	if k.classes[name] = now; now == nil {
		delete(k.classes, name)
	}
	c.changed = true
	c.signal()
}

// How long to wait while something is missing: the API server serves a kind shortly after it accepted the definition.
const (
	minBackoff = 50 * time.Millisecond
	maxBackoff = 10 * time.Second
	logAfter   = time.Second
)

var definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// classKind is what is known of the classes of one kind. A kind that is not served has no informer, and no classes.
type classKind struct {
	gvk          schema.GroupVersionKind
	informer     cache.Informer
	registration toolscache.ResourceEventHandlerRegistration
	classes      map[string]*Class
	err          error // of the informer
}

func (k *classKind) incomplete() error {
	if k.err == nil && k.informer != nil && (!k.registration.HasSynced() || !k.usable()) {
		return errNotYet
	}
	return k.err
}

// usable is true for a kind that need not be opened again.
func (k *classKind) usable() bool { return k != nil && k.informer != nil && !k.informer.IsStopped() }

func nameOfOwn(k schema.GroupVersionKind) string { return "classes of kind " + k.GroupKind().String() }

// run keeps the classes up to date and notifies listeners, from the first request for them on.
func (c *Classes) run(ctx context.Context) error {
	retry, wait := time.NewTimer(minBackoff), minBackoff
	retry.Stop()
	defer retry.Stop()
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
			wait = minBackoff
		case <-retry.C:
			wait = min(2*wait, maxBackoff)
		}
		if err := c.sync(ctx); err != nil && ctx.Err() == nil {
			retry.Reset(wait)
			if wait > logAfter && err.Error() != logged {
				logged = err.Error()
				c.log.Info("Classes are missing", "reason", logged)
			}
		}
	}
}

func (c *Classes) signal() {
	select {
	case c.wake <- struct{}{}:
	default: // the last signal is still there
	}
}

// sync watches the classes of new definitions, stops those of deleted ones, and notifies. The error describes what is missing.
func (c *Classes) sync(ctx context.Context) error {
	if err := c.watchDefinitions(ctx); err != nil {
		return fmt.Errorf("watching definitions of classes: %w", err)
	}
	c.mu.Lock()
	definitions := maps.Clone(c.definitions)
	c.mu.Unlock()
	for name, k := range maps.Clone(c.kinds) {
		if !definitions[name] {
			c.close(name, k)
		}
	}
	c.endIdle(ctx, definitions)
	for name, offers := range definitions {
		if !offers || c.kinds[name].usable() {
			continue
		}
		gvk, own := c.own[name]
		if !own {
			var err error
			plural, group, _ := strings.Cut(name, ".")
			if gvk, err = c.mgr.GetRESTMapper().KindFor(schema.GroupVersionResource{Group: group, Resource: plural}); err != nil {
				c.store(name, &classKind{err: resource.Ignore(objects.IsAbsent, err)})
				continue
			}
		}
		c.open(ctx, name, gvk)
	}
	var missing error // others choose without these
	for name, k := range c.kinds {
		if k.informer == nil {
			missing = errors.Join(missing, fmt.Errorf("%s: not served yet", name))
		}
	}
	return errors.Join(missing, c.notify())
}

// notify calls the listeners once all classes are known.
func (c *Classes) notify() error {
	c.mu.Lock()
	incomplete, changed, listeners := c.incomplete(), c.changed, slices.Clone(c.listeners)
	c.changed = incomplete != nil // then completeness will be a change
	c.mu.Unlock()
	if incomplete != nil || !changed {
		return incomplete
	}
	for _, listener := range listeners {
		if err := listener(); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed = true
			return err
		}
	}
	return nil
}

// watchDefinitions watches the definitions of all class kinds.
func (c *Classes) watchDefinitions(ctx context.Context) error {
	c.mu.Lock()
	watching := c.listed != nil
	c.mu.Unlock()
	if watching {
		return nil
	}
	informer, err := c.informer(ctx, objects.Metadata(definitionKind))
	if err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(onChange(c.define))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed = registration.HasSynced
	return nil
}

// onChange calls do for each object that exists, changes or was deleted.
func onChange(do func(o client.Object, exists bool)) toolscache.ResourceEventHandler {
	call := func(of any, exists bool) {
		if o := objects.FromInformer(of); o != nil {
			do(o, exists)
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { call(o, true) },
		UpdateFunc: func(_, after any) { call(after, true) },
		DeleteFunc: func(o any) { call(o, false) },
	}
}

// define records a definition that exists or was deleted.
func (c *Classes) define(crd client.Object, exists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.definitions[crd.GetName()]
	delete(c.definitions, crd.GetName())
	if exists {
		c.definitions[crd.GetName()] = !meta.WasDeleted(crd) &&
			slices.Contains(claimKinds(crd), strings.ToLower(c.claims.GroupKind().String()))
	}
	if _, idle := c.idle[crd.GetName()]; idle || before || c.definitions[crd.GetName()] {
		c.signal()
	}
}

// claimKinds returns the claim kinds that the classes of a definition are for.
func claimKinds(crd client.Object) []string {
	first := crd.GetLabels()[meta.LabelKeyClaimKind]
	if first == "" {
		return nil
	}
	kinds := []string{first}
	for k := range strings.SplitSeq(crd.GetAnnotations()[meta.AnnotationKeyClaimKinds], ",") {
		kinds = append(kinds, strings.ToLower(strings.TrimSpace(k)))
	}
	return kinds
}

// close stops watching classes that are not for these claims any more.
func (c *Classes) close(name string, k *classKind) {
	c.store(name, nil)
	if k.informer == nil {
		return
	}
	c.logUnless(name, k.informer.RemoveEventHandler(k.registration))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle[name] = k.gvk
}

// endIdle ends informers without a definition. They are shared with others: while there is a definition, those may need them.
func (c *Classes) endIdle(ctx context.Context, definitions map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.idle, func(name string, gvk schema.GroupVersionKind) bool {
		offers, defined := definitions[name]
		if !defined {
			c.logUnless(name, c.mgr.GetCache().RemoveInformer(ctx, untyped(gvk)))
		}
		return offers || !defined
	})
}

// logUnless logs why classes are still watched, unless the error is nil.
func (c *Classes) logUnless(name string, err error) {
	if err != nil {
		c.log.Info("Cannot stop watching classes", "classes", name, "reason", err.Error())
	}
}

// open watches the classes of one kind.
func (c *Classes) open(ctx context.Context, name string, gvk schema.GroupVersionKind) {
	k := &classKind{gvk: gvk, classes: map[string]*Class{}}
	informer, err := c.informer(ctx, untyped(gvk))
	if err == nil {
		k.registration, err = informer.AddEventHandler(onChange(func(o client.Object, exists bool) {
			class := newClass(gvk, o)
			if !exists || meta.WasDeleted(o) || class.ClaimKind != "" && class.ClaimKind != c.claims.Kind { // not for new claims of the kind
				class = nil
			}
			c.set(k, o.GetName(), class)
		}))
	}
	if k.err = resource.Ignore(objects.IsAbsent, err); err == nil {
		k.informer = informer
	}
	c.store(name, k)
}

// store sets what is known of a kind, nil for nothing.
func (c *Classes) store(name string, k *classKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.kinds[name]
	c.kinds[name] = k
	if k == nil {
		delete(c.kinds, name)
	} else if _, own := c.own[name]; k.informer != nil && !own {
		c.definitions[nameOfOwn(k.gvk)] = false
	}
	c.changed = c.changed || before == nil || k == nil || before.informer != k.informer
}

// informer returns the informer of the manager's cache for objects like the given one. It lists first: an informer that cannot list
// keeps all controllers of the manager from starting, and one that starts before the kind is served retries only after a second.
func (c *Classes) informer(ctx context.Context, like client.Object) (cache.Informer, error) {
	of := like.GetObjectKind().GroupVersionKind()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(of.GroupVersion().WithKind(of.Kind + "List"))
	if err := c.mgr.GetAPIReader().List(ctx, list, client.Limit(1)); err != nil {
		return nil, err
	}
	return c.mgr.GetCache().GetInformer(ctx, like, cache.BlockUntilSynced(false))
}

func untyped(of schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(of)
	return o
}
