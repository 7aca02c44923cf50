// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllers runs the controllers of Kubernetes without which objects of an API server would not behave: garbage
// collection, namespaces, quotas, aggregation of roles, and the root certificate.
package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apiextensionsinformers "k8s.io/apiextensions-apiserver/pkg/client/informers/externalversions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	quotaapi "k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
)

const (
	garbageWorkers   = 4
	quotaWorkers     = 2
	namespaceWorkers = 4
	smallWorkers     = 1

	// garbageSync limits how long the collector waits for its first caches, as in Kubernetes. Before they are filled it would treat an
	// owner whose dependents it does not know yet as one without any.
	garbageSync = 30 * time.Second

	watchPause  = time.Second     // between two discoveries of new kinds, and the wait for their caches
	quotaResync = 2 * time.Second // a quota on a kind is counted once the kind is watched, at the latest after this
)

// Config is what the controllers of an API server need.
type Config struct {
	Loopback    *rest.Config // the server's own access
	Client      kubernetes.Interface
	Builtins    informers.SharedInformerFactory              // of Kubernetes' own kinds
	Definitions apiextensionsinformers.SharedInformerFactory // of custom resource definitions
	Used        *Used
	CA          []byte                      // the certificate authority, in PEM
	Run         func(func(context.Context)) // runs a loop in the background
}

type controllers struct {
	Config
	metadata  metadata.Interface
	informers informerfactory.InformerFactory
	started   chan struct{}
}

// Start starts every controller in the background. They end with ctx.
func Start(ctx context.Context, cfg Config) error {
	metadataClient, err := metadata.NewForConfig(cfg.Loopback)
	if err != nil {
		return fmt.Errorf("building metadata client: %w", err)
	}
	infos := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	cs := &controllers{
		Config: cfg, metadata: metadataClient,
		informers: informerfactory.NewInformerFactory(cfg.Builtins, infos),
		started:   make(chan struct{}),
	}
	for _, start := range []func(context.Context) error{cs.startGarbage, cs.startNamespaces, cs.startQuota, cs.startRoles, cs.startRootCA} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	cs.informers.Start(ctx.Done())
	close(cs.started)
	cfg.Run(func(ctx context.Context) {
		<-ctx.Done()
		infos.Shutdown()
	})
	return nil
}

// startGarbage runs the collector, which discovers kinds when a definition changes or a kind gets its first object.
func (c *controllers) startGarbage(ctx context.Context) error {
	known := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client.Discovery()))
	mapper := &freshMapper{known, rate.NewLimiter(rate.Every(mapperPause), 1)}
	gc, err := garbagecollector.NewGarbageCollector(ctx, c.Client, c.metadata, mapper, garbagecollector.DefaultIgnoredResources(), c.informers, c.started)
	if err != nil {
		return fmt.Errorf("building garbage collector: %w", err)
	}
	if err := c.onDefinitions(c.Used.changed); err != nil {
		return err
	}
	d := &discoverer{DiscoveryInterface: c.Client.Discovery(), ctx: ctx, changed: c.Used.changed,
		wanted: func(kind schema.GroupResource) bool { return c.Used.Has(ctx, kind) }}
	c.Run(func(ctx context.Context) { gc.Run(ctx, garbageWorkers, garbageSync) })
	c.Run(func(ctx context.Context) { gc.Sync(ctx, d, watchPause) })
	return nil
}

// startQuota runs the quota controller, which counts Kubernetes' own kinds and the custom kinds that a quota names.
func (c *controllers) startQuota(ctx context.Context) error {
	lister := quotaapi.ListerFuncForResourceFunc(c.informers.ForResource)
	evaluators, err := core.NewEvaluators(lister, c.Builtins, Served().ResourceEnabled)
	if err != nil {
		return fmt.Errorf("building quota evaluators: %w", err)
	}
	quotas := c.Builtins.Core().V1().ResourceQuotas()
	changes := newSignal()
	if err := c.onDefinitions(changes); err != nil {
		return err
	}
	if _, err := quotas.Informer().AddEventHandler(onAny(changes)); err != nil {
		return fmt.Errorf("watching quotas: %w", err)
	}
	wanted := func(kind schema.GroupResource) bool {
		if !isCustom(kind.Group) {
			return true
		}
		all, _ := quotas.Lister().List(labels.Everything()) // a cache returns no error
		name := corev1.ResourceName("count/" + strings.TrimSuffix(kind.String(), "."))
		return slices.ContainsFunc(all, func(q *corev1.ResourceQuota) bool {
			_, counted := q.Spec.Hard[name]
			return counted
		})
	}
	d := &discoverer{DiscoveryInterface: c.Client.Discovery(), ctx: ctx, changed: changes, wanted: wanted}
	q, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               c.Client.CoreV1(),
		ResourceQuotaInformer:     quotas,
		ResyncPeriod:              controller.StaticResyncPeriodFunc(quotaResync),
		InformerFactory:           c.informers,
		ReplenishmentResyncPeriod: controller.NoResyncPeriodFunc,
		DiscoveryFunc:             d.ServerPreferredNamespacedResources,
		IgnoredResourcesFunc:      quotainstall.DefaultIgnoredResources,
		InformersStarted:          c.started,
		Registry:                  quotaapi.NewRegistry(evaluators),
		UpdateFilter:              quotainstall.DefaultUpdateFilter(),
	})
	if err != nil {
		return fmt.Errorf("building quota controller: %w", err)
	}
	c.Run(func(ctx context.Context) { q.Run(ctx, quotaWorkers) })
	c.Run(func(ctx context.Context) { q.Sync(ctx, d.ServerPreferredNamespacedResources, watchPause) })
	return nil
}

func (c *controllers) startRoles(context.Context) error {
	roles := clusterroleaggregation.NewClusterRoleAggregation(c.Builtins.Rbac().V1().ClusterRoles(), c.Client.RbacV1())
	c.Run(func(ctx context.Context) { roles.Run(ctx, smallWorkers) })
	return nil
}

func (c *controllers) startRootCA(context.Context) error {
	core := c.Builtins.Core().V1()
	p, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), c.Client, c.CA)
	if err != nil {
		return fmt.Errorf("building root certificate publisher: %w", err)
	}
	c.Run(func(ctx context.Context) { p.Run(ctx, smallWorkers) })
	return nil
}

func (c *controllers) onDefinitions(changes signal) error {
	if _, err := c.Definitions.Apiextensions().V1().CustomResourceDefinitions().Informer().AddEventHandler(onAny(changes)); err != nil {
		return fmt.Errorf("watching custom resource definitions: %w", err)
	}
	return nil
}

func onAny(changes signal) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changes.set() },
		UpdateFunc: func(any, any) { changes.set() },
		DeleteFunc: func(any) { changes.set() },
	}
}

// namespaces empties and removes deleted namespaces with Kubernetes' deleter behind another queue: the stock controller waits
// five seconds before it starts, and eight between two attempts.
type namespaces struct {
	deleter deletion.NamespacedResourcesDeleterInterface
	queue   workqueue.TypedRateLimitingInterface[string]
}

func (c *controllers) startNamespaces(ctx context.Context) error {
	discover := c.Client.Discovery().ServerPreferredNamespacedResources
	known, err := discover()
	if len(known) == 0 { // the deleter would end the process
		return fmt.Errorf("discovering namespaced kinds: %w", errors.Join(err, errors.New("none found")))
	}
	definitions := c.Definitions.Apiextensions().V1().CustomResourceDefinitions().Lister()
	n := &namespaces{
		deleter: deletion.NewNamespacedResourcesDeleter(ctx, c.Client.CoreV1().Namespaces(), c.metadata, c.Client.CoreV1(),
			func() ([]*metav1.APIResourceList, error) {
				lists, err := discover()
				if len(lists) == 0 {
					return known, err
				}
				defined, _ := definitions.List(labels.Everything()) // a cache returns no error
				return filter(addServed(lists, defined), func(kind schema.GroupResource) bool { return c.Used.Has(ctx, kind) }), err
			}, corev1.FinalizerKubernetes),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 5*time.Second)),
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: n.enqueue, UpdateFunc: func(_, obj any) { n.enqueue(obj) }}
	if _, err := c.Builtins.Core().V1().Namespaces().Informer().AddEventHandler(handler); err != nil {
		return fmt.Errorf("watching namespaces: %w", err)
	}
	for range namespaceWorkers {
		c.Run(n.work)
	}
	c.Run(func(ctx context.Context) {
		<-ctx.Done()
		n.queue.ShutDown()
	})
	return nil
}

func (n *namespaces) enqueue(obj any) {
	if ns, ok := obj.(*corev1.Namespace); ok && ns.DeletionTimestamp != nil {
		n.queue.Add(ns.Name)
	}
}

func (n *namespaces) work(ctx context.Context) {
	for {
		name, stopped := n.queue.Get()
		if stopped {
			return
		}
		n.delete(ctx, name)
		n.queue.Done(name)
	}
}

// delete requeues with backoff while objects remain, which the namespace's conditions report, or after a failure.
func (n *namespaces) delete(ctx context.Context, name string) {
	err := n.deleter.Delete(ctx, name)
	if err == nil {
		n.queue.Forget(name)
		return
	}
	if _, remaining := errors.AsType[*deletion.ResourcesRemainingError](err); !remaining && ctx.Err() == nil {
		utilruntime.HandleErrorWithContext(ctx, err, "Deleting namespace", "namespace", name)
	}
	n.queue.AddRateLimited(name)
}
