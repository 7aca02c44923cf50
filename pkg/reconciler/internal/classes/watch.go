// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
)

const (
	// soon and late bound when to look again while something is missing: a server tells that it accepted a definition shortly
	// before it serves the kind.
	soon = 50 * time.Millisecond
	late = 10 * time.Second
	// notable is from when on it is logged that something is missing.
	notable = time.Second
)

var errNotYet = errors.New("not known yet")

var definitions = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}

// kind is what is known of the classes of one kind. One that the server does not serve has no informer, and no classes.
type kind struct {
	gvk          schema.GroupVersionKind
	informer     cache.Informer
	registration toolscache.ResourceEventHandlerRegistration
	classes      map[string]Class
	err          error // why they cannot be known
}

// known is nil if all classes of the kind are known.
func (k *kind) known() error {
	if k.err == nil && k.informer != nil && !k.registration.HasSynced() {
		return errNotYet
	}
	return k.err
}

// usable is true if the kind need not be opened again.
func (k *kind) usable() bool { return k != nil && k.informer != nil && !k.informer.IsStopped() }

// run keeps what is known up to date, and tells of it.
func (c *Classes) run(ctx context.Context) error {
	again, wait := time.NewTimer(0), soon
	defer again.Stop()
	logged := ""
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.changed:
			wait = soon
		case <-again.C:
			wait = min(2*wait, late)
		}
		if err := c.look(ctx); err != nil && ctx.Err() == nil {
			again.Reset(wait)
			if wait > notable && err.Error() != logged {
				logged = err.Error()
				c.log.Info("Classes are missing", "reason", logged)
			}
		}
	}
}

func (c *Classes) sign() {
	select {
	case c.changed <- struct{}{}:
	default: // the one that is there has not been seen yet
	}
}

// look opens what is new and closes what is gone, and tells what changed. An error says what is missing.
func (c *Classes) look(ctx context.Context) error {
	if err := c.watchDefinitions(ctx); err != nil {
		return fmt.Errorf("watching definitions of classes: %w", err)
	}
	c.closeGone(ctx)
	c.openOffered(ctx)
	c.openOwn(ctx)
	return errors.Join(c.absent(), c.tell())
}

// tell passes news on once all is known.
func (c *Classes) tell() error {
	c.mu.Lock()
	unknown, news, listeners := c.known(), c.news, slices.Clone(c.listeners)
	c.news = unknown != nil // if so, that it became known is news
	c.mu.Unlock()
	if unknown != nil || !news {
		return unknown
	}
	for _, listener := range listeners {
		if err := listener(); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.news = true
			return err
		}
	}
	return nil
}

// watchDefinitions has it told of the definitions of all class kinds.
func (c *Classes) watchDefinitions(ctx context.Context) error {
	c.mu.Lock()
	watching := c.listed != nil
	c.mu.Unlock()
	if watching {
		return nil
	}
	informer, err := c.informer(ctx, metadata(definitions))
	if err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    c.seeDefinition,
		UpdateFunc: func(_, after any) { c.seeDefinition(after) },
		DeleteFunc: func(o any) {
			if crd := objects.FromInformer(o); crd != nil {
				c.mu.Lock()
				delete(c.definitions, crd.GetName())
				c.mu.Unlock()
				c.sign()
			}
		},
	})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.listed = registration.HasSynced
	return nil
}

func (c *Classes) seeDefinition(o any) {
	crd := objects.FromInformer(o)
	if crd == nil {
		return
	}
	offers := !meta.WasDeleted(crd) && slices.Contains(claimKinds(crd), strings.ToLower(c.claims.GroupKind().String()))
	c.mu.Lock()
	before := c.definitions[crd.GetName()]
	c.definitions[crd.GetName()] = offers
	c.mu.Unlock()
	if before || offers {
		c.sign()
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

// closeGone stops watching the classes of definitions that are not for these claims any more. Informers are shared and only
// end with the definition itself.
func (c *Classes) closeGone(ctx context.Context) {
	for name, k := range c.opened() {
		own := strings.HasPrefix(name, ofOwn)
		offers, exists := c.offer(name)
		if offers || own && !c.wasSeen(k.gvk) {
			continue
		}
		c.keep(name, nil)
		if k.informer == nil {
			continue
		}
		err := k.informer.RemoveEventHandler(k.registration)
		if !own && !exists {
			err = errors.Join(err, c.mgr.GetCache().RemoveInformer(ctx, whole(k.gvk)))
		}
		if err != nil {
			c.log.Info("Cannot stop watching classes", "classes", name, "reason", err.Error())
		}
	}
}

// openOffered watches the classes of definitions that are for these claims.
func (c *Classes) openOffered(ctx context.Context) {
	opened := c.opened()
	for _, name := range c.offered() {
		if opened[name].usable() {
			continue
		}
		plural, group, _ := strings.Cut(name, ".")
		gvk, err := c.mgr.GetRESTMapper().KindFor(schema.GroupVersionResource{Group: group, Resource: plural})
		if err != nil {
			c.keep(name, &kind{err: served(err)})
			continue
		}
		c.open(ctx, name, gvk)
	}
}

// openOwn watches the caller's own class kinds that no definition says are for these claims.
func (c *Classes) openOwn(ctx context.Context) {
	opened := c.opened()
	for _, own := range c.own {
		if name := nameOfOwn(own); !c.wasSeen(own) && !opened[name].usable() {
			c.open(ctx, name, own)
		}
	}
}

// open watches the classes of one kind.
func (c *Classes) open(ctx context.Context, name string, gvk schema.GroupVersionKind) {
	k := &kind{gvk: gvk, classes: map[string]Class{}}
	informer, err := c.informer(ctx, whole(gvk))
	if err == nil {
		k.registration, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { c.seeClass(k, o) },
			UpdateFunc: func(_, after any) { c.seeClass(k, after) },
			DeleteFunc: func(o any) { c.loseClass(k, objects.FromInformer(o)) },
		})
	}
	if k.err = served(err); err == nil {
		k.informer = informer
	}
	c.keep(name, k)
}

// served is nil for an error that says that a kind is not served, and so has no classes.
func served(err error) error {
	if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// absent says which kinds are not served yet: others choose without them.
func (c *Classes) absent() (all error) {
	for name, k := range c.opened() {
		if k.informer == nil {
			all = errors.Join(all, fmt.Errorf("%s: not served yet", name))
		}
	}
	return all
}

// seeClass takes a class that appeared or changed. One that is being deleted is not for new claims.
func (c *Classes) seeClass(k *kind, o any) {
	class := objects.FromInformer(o)
	if class == nil || meta.WasDeleted(class) {
		c.loseClass(k, class)
		return
	}
	now := Class{
		Kind:    k.gvk,
		Name:    class.GetName(),
		Labels:  labels.Set(class.GetLabels()),
		Default: class.GetAnnotations()[meta.AnnotationKeyDefaultClass] == "true", // R252

		Namespaces: namespacesOf(class),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if was, ok := k.classes[now.Name]; ok && was.same(now) {
		return
	}
	k.classes[now.Name] = now
	c.news = true
	c.sign()
}

func (c *Classes) loseClass(k *kind, class client.Object) {
	if class == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := k.classes[class.GetName()]; ok {
		delete(k.classes, class.GetName())
		c.news = true
		c.sign()
	}
}

// opened returns the kinds that are there now.
func (c *Classes) opened() map[string]*kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.kinds)
}

// keep sets what is known by a name, nil for nothing.
func (c *Classes) keep(name string, k *kind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.kinds[name]
	c.kinds[name] = k
	if k == nil {
		delete(c.kinds, name)
	} else if k.informer != nil && !strings.HasPrefix(name, ofOwn) {
		c.seen[k.gvk.GroupKind()] = true
	}
	c.news = c.news || before == nil || k == nil || before.informer != k.informer
}

// offered returns the names of the definitions of classes for these claims.
func (c *Classes) offered() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, offers := range c.definitions {
		if offers {
			names = append(names, name)
		}
	}
	return names
}

func (c *Classes) offer(definition string) (offers, exists bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	offers, exists = c.definitions[definition]
	return offers, exists
}

func (c *Classes) wasSeen(k schema.GroupVersionKind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen[k.GroupKind()]
}

// informer returns that of the manager's cache for objects like the given one. It asks first whether objects of the kind can be
// listed: an informer that cannot would keep every controller of the manager from starting, and one that begins before the
// server serves the kind comes back only after a second.
func (c *Classes) informer(ctx context.Context, like client.Object) (cache.Informer, error) {
	of := like.GetObjectKind().GroupVersionKind()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(of.GroupVersion().WithKind(of.Kind + "List"))
	if err := c.mgr.GetAPIReader().List(ctx, list, client.Limit(1)); err != nil {
		return nil, err
	}
	return c.mgr.GetCache().GetInformer(ctx, like, cache.BlockUntilSynced(false))
}

// whole is an object of a kind whose Go type nobody knows here.
func whole(of schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(of)
	return o
}

func metadata(of schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(of)
	return o
}
