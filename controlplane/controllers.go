// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotaapi "k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/quota/v1/evaluator/core"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"
)

const (
	garbageWorkers   = 4
	quotaWorkers     = 2
	namespaceWorkers = 4
	smallWorkers     = 1

	watchPause  = time.Second     // between two looks for new kinds, and the wait for their caches
	quotaResync = 2 * time.Second // a quota on a kind is counted once the kind is watched, at the latest after this
)

// controllers are the loops without which objects of the API server would not behave. They act as the server itself.
type controllers struct {
	client    kubernetes.Interface
	metadata  metadata.Interface
	chain     *chain
	used      *usedKinds
	informers informerfactory.InformerFactory
	started   chan struct{}
	run       func(func(context.Context))
}

// startControllers starts every controller in the background through run. They end with ctx.
func (c *chain) startControllers(ctx context.Context, client kubernetes.Interface, ca []byte, run func(func(context.Context))) error {
	metadataClient, err := metadata.NewForConfig(c.loopback)
	if err != nil {
		return fmt.Errorf("building metadata client: %w", err)
	}
	infos := metadatainformer.NewSharedInformerFactory(metadataClient, 0)
	cs := &controllers{
		client: client, metadata: metadataClient, chain: c, used: c.used, run: run,
		informers: informerfactory.NewInformerFactory(c.builtins, infos),
		started:   make(chan struct{}),
	}
	for _, start := range []func(context.Context) error{cs.startGarbage, cs.startNamespaces, cs.startQuota, cs.startRoles} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	if err := cs.startRootCA(ca); err != nil {
		return err
	}
	cs.informers.Start(ctx.Done())
	close(cs.started)
	run(func(ctx context.Context) {
		<-ctx.Done()
		infos.Shutdown()
	})
	return nil
}

// startGarbage runs the collector, which looks for new kinds when a definition changes or a kind gets its first object.
func (c *controllers) startGarbage(ctx context.Context) error {
	mapper := newFreshMapper(c.client.Discovery())
	gc, err := garbagecollector.NewGarbageCollector(ctx, c.client, c.metadata, mapper, garbagecollector.DefaultIgnoredResources(), c.informers, c.started)
	if err != nil {
		return fmt.Errorf("building garbage collector: %w", err)
	}
	if err := c.onDefinitions(c.used.changed); err != nil {
		return err
	}
	d := &discoverer{DiscoveryInterface: c.client.Discovery(), ctx: ctx, news: c.used.changed,
		wanted: func(kind schema.GroupResource) bool { return c.used.inUse(ctx, kind) }}
	c.run(func(ctx context.Context) { gc.Run(ctx, garbageWorkers, watchPause) })
	c.run(func(ctx context.Context) { gc.Sync(ctx, d, watchPause) })
	return nil
}

// startQuota runs the quota controller, which counts Kubernetes' own kinds and the custom kinds that some quota names.
func (c *controllers) startQuota(ctx context.Context) error {
	served := servedResources()
	lister := quotaapi.ListerFuncForResourceFunc(c.informers.ForResource)
	evaluators, err := core.NewEvaluators(lister, c.chain.builtins, served.ResourceEnabled)
	if err != nil {
		return fmt.Errorf("building quota evaluators: %w", err)
	}
	quotas := c.chain.builtins.Core().V1().ResourceQuotas()
	changes := newNews()
	if err := c.onDefinitions(changes); err != nil {
		return err
	}
	if _, err := quotas.Informer().AddEventHandler(onAny(changes)); err != nil {
		return fmt.Errorf("watching quotas: %w", err)
	}
	named := func(kind schema.GroupResource) bool {
		if !isCustom(kind.Group) {
			return true
		}
		all, err := quotas.Lister().List(labels.Everything())
		return err == nil && anyCounts(all, kind)
	}
	d := &discoverer{DiscoveryInterface: c.client.Discovery(), ctx: ctx, news: changes, wanted: named}
	q, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               c.client.CoreV1(),
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
	c.run(func(ctx context.Context) { q.Run(ctx, quotaWorkers) })
	c.run(func(ctx context.Context) { q.Sync(ctx, d.ServerPreferredNamespacedResources, watchPause) })
	return nil
}

// anyCounts reports whether a quota limits the number of a kind's objects.
func anyCounts(quotas []*corev1.ResourceQuota, kind schema.GroupResource) bool {
	name := corev1.ResourceName("count/" + strings.TrimSuffix(kind.String(), "."))
	for _, q := range quotas {
		if _, ok := q.Spec.Hard[name]; ok {
			return true
		}
	}
	return false
}

func (c *controllers) startRoles(context.Context) error {
	roles := clusterroleaggregation.NewClusterRoleAggregation(c.chain.builtins.Rbac().V1().ClusterRoles(), c.client.RbacV1())
	c.run(func(ctx context.Context) { roles.Run(ctx, smallWorkers) })
	return nil
}

func (c *controllers) startRootCA(ca []byte) error {
	core := c.chain.builtins.Core().V1()
	p, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), c.client, ca)
	if err != nil {
		return fmt.Errorf("building root certificate publisher: %w", err)
	}
	c.run(func(ctx context.Context) { p.Run(ctx, smallWorkers) })
	return nil
}

// onDefinitions gives news of every change of a custom resource definition.
func (c *controllers) onDefinitions(changes news) error {
	if _, err := c.chain.definitions.Apiextensions().V1().CustomResourceDefinitions().Informer().AddEventHandler(onAny(changes)); err != nil {
		return fmt.Errorf("watching custom resource definitions: %w", err)
	}
	return nil
}

func onAny(changes news) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { changes.set() },
		UpdateFunc: func(any, any) { changes.set() },
		DeleteFunc: func(any) { changes.set() },
	}
}
