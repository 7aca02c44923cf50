// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
)

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
	classes      map[string]Class
	err          error // of the informer
}

func (k *classKind) incomplete() error {
	if k.err == nil && k.informer != nil && !k.registration.HasSynced() {
		return errNotYet
	}
	return k.err
}

// usable is true for a kind that need not be opened again.
func (k *classKind) usable() bool { return k != nil && k.informer != nil && !k.informer.IsStopped() }

// nameOfOwn names a kind for which no definition of that name exists.
func nameOfOwn(k schema.GroupVersionKind) string { return ofOwn + k.GroupKind().String() }

const ofOwn = "classes of kind "

// run keeps the classes up to date and notifies listeners.
func (c *Classes) run(ctx context.Context) error {
	retry, wait := time.NewTimer(0), minBackoff
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
		if _, defined := definitions[name]; !definitions[name] && !(strings.HasPrefix(name, ofOwn) && !c.seen[k.gvk.GroupKind()]) {
			c.close(ctx, name, k, defined)
		}
	}
	for name, offers := range definitions {
		if !offers || c.kinds[name].usable() {
			continue
		}
		plural, group, _ := strings.Cut(name, ".")
		gvk, err := c.mgr.GetRESTMapper().KindFor(schema.GroupVersionResource{Group: group, Resource: plural})
		if err != nil {
			c.store(name, &classKind{err: unlessAbsent(err)})
			continue
		}
		c.open(ctx, name, gvk)
	}
	for _, own := range c.own {
		if name := nameOfOwn(own); !c.seen[own.GroupKind()] && !c.kinds[name].usable() {
			c.open(ctx, name, own)
		}
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
	if before || c.definitions[crd.GetName()] {
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

// close stops watching classes that are not for these claims any more. Informers are shared and end with the definition only.
func (c *Classes) close(ctx context.Context, name string, k *classKind, defined bool) {
	c.store(name, nil)
	if k.informer == nil {
		return
	}
	err := k.informer.RemoveEventHandler(k.registration)
	if !defined && !strings.HasPrefix(name, ofOwn) {
		err = errors.Join(err, c.mgr.GetCache().RemoveInformer(ctx, untyped(k.gvk)))
	}
	if err != nil {
		c.log.Info("Cannot stop watching classes", "classes", name, "reason", err.Error())
	}
}

// open watches the classes of one kind.
func (c *Classes) open(ctx context.Context, name string, gvk schema.GroupVersionKind) {
	k := &classKind{gvk: gvk, classes: map[string]Class{}}
	informer, err := c.informer(ctx, untyped(gvk))
	if err == nil {
		k.registration, err = informer.AddEventHandler(onChange(func(o client.Object, exists bool) {
			if !exists || meta.WasDeleted(o) { // not for new claims
				c.set(k, o.GetName(), nil)
				return
			}
			now := newClass(gvk, o)
			c.set(k, now.Name, &now)
		}))
	}
	if k.err = unlessAbsent(err); err == nil {
		k.informer = informer
	}
	c.store(name, k)
}

// unlessAbsent is nil for an error that says that a kind is not served, and so has no classes.
func unlessAbsent(err error) error {
	if objects.IsAbsent(err) {
		return nil
	}
	return err
}

// store sets what is known of a kind, nil for nothing.
func (c *Classes) store(name string, k *classKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.kinds[name]
	c.kinds[name] = k
	if k == nil {
		delete(c.kinds, name)
	} else if k.informer != nil && !strings.HasPrefix(name, ofOwn) {
		c.seen[k.gvk.GroupKind()] = true
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
