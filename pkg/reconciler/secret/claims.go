// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/connection"
)

// category is that of all kinds of claims.
const category = "claim"

// claims are those that control destinations, of whatever kind. Owner references are written by whoever may write a Secret,
// so no kind is watched before the API server said that it is one of claims.
type claims struct {
	mgr manager.Manager

	mu    sync.Mutex
	life  context.Context                                         // of the controller that watches claims, if one does
	queue workqueue.TypedRateLimitingInterface[reconcile.Request] // of that controller
	kinds map[schema.GroupVersionKind]cache.Informer              // of claims; the informer is nil where nobody watches
	other map[schema.GroupVersionKind]struct{}                    // kinds that are served and not of claims, such as targets
}

func newClaims(mgr manager.Manager) *claims {
	return &claims{mgr: mgr, kinds: map[schema.GroupVersionKind]cache.Informer{}, other: map[schema.GroupVersionKind]struct{}{}}
}

// A claimReader returns the metadata of the claim that controls a destination, without any if another kind of object does
// or none.
type claimReader func(ctx context.Context, to *corev1.Secret) (*metav1.PartialObjectMetadata, error)

// cached reads what is known of the claim, from the API server only where nothing is.
func (c *claims) cached(ctx context.Context, to *corev1.Secret) (*metav1.PartialObjectMetadata, error) {
	claim, err := c.read(ctx, to, func(informer cache.Informer) client.Reader {
		if informer != nil && informer.HasSynced() {
			return c.mgr.GetCache()
		}
		return c.mgr.GetAPIReader()
	})
	if err != nil { // the cache may be behind
		return c.live(ctx, to)
	}
	return claim, nil
}

// live reads the claim from the API server.
func (c *claims) live(ctx context.Context, to *corev1.Secret) (*metav1.PartialObjectMetadata, error) {
	return c.read(ctx, to, func(cache.Informer) client.Reader { return c.mgr.GetAPIReader() })
}

func (c *claims) read(ctx context.Context, to *corev1.Secret,
	by func(cache.Informer) client.Reader) (*metav1.PartialObjectMetadata, error) {
	claim := &metav1.PartialObjectMetadata{}
	ref := metav1.GetControllerOf(to)
	if ref == nil {
		return claim, nil
	}
	kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	informer, known, err := c.know(ctx, kind)
	if err != nil || !known {
		return claim, err
	}
	claim.SetGroupVersionKind(kind)
	err = by(informer).Get(ctx, client.ObjectKey{Namespace: to.Namespace, Name: ref.Name}, claim)
	return claim, err
}

// know finds out whether a kind is one of claims, and has its objects watched if there is a controller to tell.
func (c *claims) know(ctx context.Context, kind schema.GroupVersionKind) (informer cache.Informer, known bool, err error) {
	if informer, known = c.known(kind); known {
		return informer, true, nil
	}
	if c.isOther(kind) {
		return nil, false, nil
	}
	isClaim, served, err := c.ask(kind)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || !isClaim {
		if served {
			c.other[kind] = struct{}{}
		}
		return nil, false, err
	}
	if informer, known = c.kinds[kind]; known {
		return informer, true, nil
	}
	if c.queue != nil {
		if informer, err = c.watch(ctx, kind); err != nil {
			return nil, false, fmt.Errorf("watching %s: %w", kind.GroupKind(), err)
		}
	}
	c.kinds[kind] = informer
	return informer, true, nil
}

func (c *claims) known(kind schema.GroupVersionKind) (informer cache.Informer, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	informer, known = c.kinds[kind]
	return informer, known
}

func (c *claims) isOther(kind schema.GroupVersionKind) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, is := c.other[kind]
	return is
}

// ask asks the API server whether a kind is one of claims, and whether there is such a kind at all.
func (c *claims) ask(kind schema.GroupVersionKind) (isClaim, served bool, err error) {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(c.mgr.GetConfig(), c.mgr.GetHTTPClient())
	if err != nil {
		return false, false, fmt.Errorf("making a client for discovery: %w", err)
	}
	all, err := d.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return false, false, client.IgnoreNotFound(err)
	}
	for _, r := range all.APIResources {
		served = served || r.Kind == kind.Kind
		isClaim = isClaim || r.Kind == kind.Kind && r.Namespaced && slices.Contains(r.Categories, category)
	}
	return isClaim, served, nil
}

// begin has claims of the kinds that it will meet watched for a controller. It satisfies source.Func.
func (c *claims) begin(life context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.life, c.queue = life, queue
	return nil
}

// watch has it told when a claim of the kind appears or changes its templates. It does not wait for the first list, which
// may be refused for ever: until then claims are read from the API server.
func (c *claims) watch(ctx context.Context, kind schema.GroupVersionKind) (cache.Informer, error) {
	of := &metav1.PartialObjectMetadata{}
	of.SetGroupVersionKind(kind)
	informer, err := c.mgr.GetCache().GetInformer(ctx, of, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	life, queue := c.life, c.queue
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { c.wake(life, queue, nil, o) }, // it may have changed between the last look and the first list
		UpdateFunc: func(before, after any) { c.wake(life, queue, before, after) },
	})
	return informer, err
}

// wake asks for a pass over the destinations that a claim controls, if its templates changed.
func (c *claims) wake(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request], before, after any) {
	was, _ := before.(*metav1.PartialObjectMetadata)
	is, ok := after.(*metav1.PartialObjectMetadata)
	if !ok || was != nil && templates(was) == templates(is) {
		return
	}
	secrets := &corev1.SecretList{}
	if err := c.mgr.GetCache().List(ctx, secrets, client.InNamespace(is.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		c.mgr.GetLogger().Error(err, "Cannot find the Secrets of a claim", "claim", client.ObjectKeyFromObject(is))
		return
	}
	for i := range secrets.Items {
		if of := metav1.GetControllerOfNoCopy(&secrets.Items[i]); of != nil && of.UID == is.UID {
			queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&secrets.Items[i])})
		}
	}
}

func templates(claim *metav1.PartialObjectMetadata) string {
	return claim.Annotations[connection.AnnotationKeyConnectionKeys]
}
