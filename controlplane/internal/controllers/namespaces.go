// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/kubernetes/pkg/controller/namespace/deletion"
)

// namespaces empties and removes deleted namespaces with Kubernetes' own deleter behind another queue: the stock controller waits five
// seconds for other servers before it starts, and eight between two attempts while finalizers hold objects back.
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
	n := &namespaces{
		deleter: deletion.NewNamespacedResourcesDeleter(ctx, c.Client.CoreV1().Namespaces(), c.metadata, c.Client.CoreV1(),
			func() ([]*metav1.APIResourceList, error) {
				lists, err := discover()
				if len(lists) == 0 {
					return known, err
				}
				return lists, err
			}, corev1.FinalizerKubernetes),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 5*time.Second)),
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

// delete empties a namespace. While objects remain, or after a failure, it requeues with backoff; the namespace's conditions report
// what remains.
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
