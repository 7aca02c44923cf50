// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package outlines keeps the schemas of kinds without requests out of the memory of the API server.
package outlines

import (
	"context"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	serializers "k8s.io/apiextensions-apiserver/pkg/apiserver"
	client "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/cache"
)

// outlineAfter is the time from a change of a definition until unused ones are replaced.
const outlineAfter = time.Second

// largeBatch of replaced definitions is worth a collection of garbage at once.
const largeBatch = 10

const outlined apiextensionsv1.ConversionStrategyType = "Outlined"

// Outlines replaces custom resource definitions without a request for their kind by outlines, in the cache that the server of Kubernetes keeps
// of all: schemas take some sixty kilobytes, and only serving a kind and its OpenAPI need them. The first request for a kind reads the whole
// definition.
//
// An outline has a strategy of conversion that Kubernetes does not know, so that it refuses to serve the kind, rather than serves it without a
// schema.
type Outlines struct {
	informer  cache.SharedIndexInformer
	client    client.CustomResourceDefinitionInterface
	scheduled atomic.Bool

	mu     sync.Mutex        // held while a definition in the cache is replaced, and before the cache gets an event
	latest map[string]uint64 // resource version of the last event of each definition, which the cache has or will get
	used   map[string]bool   // names of definitions that stay whole
}

// New comes before the informer starts.
func New(informer cache.SharedIndexInformer, client client.CustomResourceDefinitionInterface) (*Outlines, error) {
	o := &Outlines{informer: informer, client: client, latest: map[string]uint64{}, used: map[string]bool{}}
	if err := informer.SetTransform(o.recordVersion); err != nil {
		return nil, err
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { o.schedule() },
		UpdateFunc: func(any, any) { o.schedule() },
	})
	return o, err
}

// recordVersion is a cache.TransformFunc, so the cache gets no event while a definition is replaced.
func (o *Outlines) recordVersion(changed any) (any, error) {
	if d, ok := changed.(*apiextensionsv1.CustomResourceDefinition); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.latest[d.Name] = resourceVersion(d)
	}
	return changed, nil
}

func (o *Outlines) schedule() {
	if o.scheduled.CompareAndSwap(false, true) {
		time.AfterFunc(outlineAfter, o.replaceUnused)
	}
}

// replaceUnused replaces all unused definitions.
func (o *Outlines) replaceUnused() {
	o.scheduled.Store(false)
	replaced := 0
	for _, name := range o.informer.GetStore().ListKeys() {
		if o.replace(name) {
			replaced++
		}
	}
	if replaced >= largeBatch {
		debug.FreeOSMemory()
	}
}

func (o *Outlines) replace(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.cached(name)
	if d == nil || o.used[name] || !isWhole(d) || d.DeletionTimestamp != nil || !apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established) {
		return false
	}
	if resourceVersion(d) != o.latest[name] {
		return false // the event of what follows schedules again
	}
	outline := *d
	outline.ManagedFields, outline.Spec.Conversion = nil, &apiextensionsv1.CustomResourceConversion{Strategy: outlined}
	outline.Spec.Versions = slices.Clone(d.Spec.Versions)
	for i := range outline.Spec.Versions {
		outline.Spec.Versions[i].Schema = nil
	}
	return o.informer.GetIndexer().Update(&outline) == nil
}

// restoreFor has the cache hold a whole definition from now on, if there is one of that name, for a request of its kind.
func (o *Outlines) restoreFor(ctx context.Context, name string) error {
	if !o.mark(name) {
		return nil
	}
	for {
		whole, err := o.client.Get(ctx, name, metav1.GetOptions{})
		if err != nil || o.restore(whole) {
			return err
		}
	}
}

// mark has a definition stay whole, and returns whether it is an outline.
func (o *Outlines) mark(name string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.cached(name)
	if d == nil {
		return false
	}
	o.used[name] = true
	return !isWhole(d)
}

// restore replaces an outline, unless the definition changed after it was read.
func (o *Outlines) restore(whole *apiextensionsv1.CustomResourceDefinition) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	d := o.cached(whole.Name)
	if d == nil || isWhole(d) {
		return true
	}
	return resourceVersion(whole) >= o.latest[whole.Name] && o.informer.GetIndexer().Update(whole) == nil
}

// cached returns the definition that the cache holds, nil if none.
func (o *Outlines) cached(name string) *apiextensionsv1.CustomResourceDefinition {
	object, _, _ := o.informer.GetStore().GetByKey(name) // never an error
	d, _ := object.(*apiextensionsv1.CustomResourceDefinition)
	return d
}

// Whole returns a definition as it is stored, and leaves the cache as it is.
func (o *Outlines) Whole(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if d := o.cached(name); d != nil && isWhole(d) {
		return d, nil
	}
	return o.client.Get(ctx, name, metav1.GetOptions{})
}

// isWhole is false for an outline.
func isWhole(d *apiextensionsv1.CustomResourceDefinition) bool {
	return d.Spec.Conversion == nil || d.Spec.Conversion.Strategy != outlined
}

// resourceVersion returns a number that increases with each change, since there is one store.
func resourceVersion(d *apiextensionsv1.CustomResourceDefinition) uint64 {
	n, _ := strconv.ParseUint(d.ResourceVersion, 10, 64) // the server wrote it
	return n
}

// Handler restores the definition that a request needs before next serves the request.
func (o *Outlines) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := request.RequestInfoFrom(r.Context())
		if ok && info.IsResourceRequest {
			err := o.restoreFor(r.Context(), info.Resource+"."+info.APIGroup)
			if err != nil && !apierrors.IsNotFound(err) {
				err = apierrors.NewInternalError(fmt.Errorf("reading the definition of %s: %w", info.Resource, err))
			}
			if err != nil {
				responsewriters.ErrorNegotiated(err, serializers.Codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
