// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
)

// keepFinalizers keeps an object that gets a finalizer while it is deleted, as one that is being deleted (N82). Kubernetes looks for
// finalizers before it deletes and not again: an object whose first one is added meanwhile is gone, and what the finalizer was to clean
// up leaks. The two finalizers of the garbage collector are no others: Kubernetes removes them by the way, and stores that only with
// the deletion.
type keepFinalizers struct{ generic.RESTOptionsGetter }

func (k keepFinalizers) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := k.RESTOptionsGetter.GetRESTOptions(resource, example)
	decorate := options.Decorator
	options.Decorator = func(config *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error),
		newObject, newList func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
	) (storage.Interface, factory.DestroyFunc, error) {
		s, destroy, err := decorate(config, prefix, key, newObject, newList, attributes, triggers, indexers)
		return finalizing{s}, destroy, err
	}
	return options, err
}

type finalizing struct{ storage.Interface }

var (
	errHeld = errors.New("the object has a finalizer and must not be removed")
	errFree = errors.New("the object has no finalizer and can be removed")
)

func (f finalizing) Delete(ctx context.Context, key string, out runtime.Object, given *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, options storage.DeleteOptions) error {
	for {
		err := f.Interface.Delete(ctx, key, out, given, func(ctx context.Context, current runtime.Object) error {
			if held(current) != nil {
				return errHeld
			}
			return validate(ctx, current)
		}, cached, options)
		if !errors.Is(err, errHeld) {
			return err
		}
		if err = f.markDeleted(ctx, key, out, given, validate); !errors.Is(err, errFree) {
			return err
		}
	}
}

// markDeleted does what Kubernetes does when an object with finalizers is deleted.
func (f finalizing) markDeleted(ctx context.Context, key string, out runtime.Object, given *storage.Preconditions,
	validate storage.ValidateObjectFunc) error {
	return f.GuaranteedUpdate(ctx, key, out, false, given, func(current runtime.Object, _ storage.ResponseMeta) (runtime.Object, *uint64, error) {
		o := held(current)
		if o == nil {
			return nil, nil, errFree
		}
		if err := validate(ctx, current); err != nil {
			return nil, nil, err
		}
		o.SetDeletionTimestamp(new(metav1.Now()))
		o.SetDeletionGracePeriodSeconds(new(int64(0)))
		if o.GetGeneration() > 0 {
			o.SetGeneration(o.GetGeneration() + 1)
		}
		return current, nil, nil
	}, nil)
}

// held returns an object that has finalizers and is not being deleted, and nil for all others.
func held(current runtime.Object) metav1.Object {
	o, err := meta.Accessor(current)
	if err != nil || o.GetDeletionTimestamp() != nil || !slices.ContainsFunc(o.GetFinalizers(), isOthers) {
		return nil
	}
	return o
}

func isOthers(finalizer string) bool {
	return finalizer != metav1.FinalizerOrphanDependents && finalizer != metav1.FinalizerDeleteDependents
}
