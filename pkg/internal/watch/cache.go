// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"maps"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// NewCache returns a manager's cache. Of custom resource definitions it holds only those of classes, and of these only which claims they
// are for. Kinds that are watched only later, like those of classes, keep no controller from starting while they cannot be listed.
func NewCache(config *rest.Config, o cache.Options) (cache.Cache, error) {
	ofClasses, err := labels.NewRequirement(meta.LabelKeyClaimKind, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	byObject := map[client.Object]cache.ByObject{
		objects.Metadata(definitionKind): {Label: labels.NewSelector().Add(*ofClasses), Transform: strip},
	}
	maps.Copy(byObject, o.ByObject)
	o.ByObject = byObject
	all, err := cache.New(config, o)
	return &onceSynced{Cache: all}, err
}

// onceSynced is a cache that is synced for good. A source of events waits for its own informer, and then for all others of the cache.
// Those that began later may never list anything: their kind may have been uninstalled.
type onceSynced struct {
	cache.Cache
	synced atomic.Bool
}

// The wait begins again at these intervals, with the informers that the cache has then: that of a kind which was just uninstalled is gone.
// Most starts take some milliseconds.
const (
	firstSyncInterval = 5 * time.Millisecond
	lastSyncInterval  = time.Second
)

// WaitForCacheSync waits until all informers that the cache starts with, and still has, are synced.
func (c *onceSynced) WaitForCacheSync(ctx context.Context) bool {
	for interval := firstSyncInterval; !c.synced.Load() && ctx.Err() == nil; interval = min(2*interval, lastSyncInterval) {
		limited, cancel := context.WithTimeout(ctx, interval)
		if c.Cache.WaitForCacheSync(limited) {
			c.synced.Store(true)
		}
		cancel()
	}
	return c.synced.Load()
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
