// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects stores the objects of the API server in the embedded etcd.
package objects

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/cacher"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
	"k8s.io/client-go/tools/cache"

	"github.com/bowline-dev/bowline/controlplane/internal/etcd"
)

// OfKinds returns how objects of kinds are stored, given how Kubernetes would.
func OfKinds(kubernetes generic.RESTOptionsGetter, store *etcd.Store) generic.RESTOptionsGetter {
	return keepFinalizers{inProcess{kubernetes, store}}
}

// OfDefinitions returns how custom resource definitions are stored.
func OfDefinitions(kubernetes generic.RESTOptionsGetter, store *etcd.Store) generic.RESTOptionsGetter {
	return asProtobuf{inProcess{kubernetes, store}}
}

// OfRegistrations returns how the API services that register groups are stored.
func OfRegistrations(kubernetes generic.RESTOptionsGetter, store *etcd.Store) generic.RESTOptionsGetter {
	return inProcess{kubernetes, store}
}

// inProcess stores objects by function calls of the store in this process. Kubernetes would open a connection for each kind, whose
// goroutines and buffers take memory, and encode each request, response and event for it.
type inProcess struct {
	generic.RESTOptionsGetter
	store *etcd.Store
}

func (p inProcess) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := p.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = p.open
	return options, err
}

// isCached is true for kinds with a watch cache. Kubernetes has one for all kinds but Events, of which there are many and few are read. The
// groups without have few objects, and informers of this process hold them; a cache of each kind would take memory and wake an idle process
// more than once a second.
func isCached(kind schema.GroupResource) bool {
	switch kind.Group {
	case "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "rbac.authorization.k8s.io":
		return false
	}
	return kind != corev1.Resource("events") && kind != eventsv1.Resource("events") && kind != corev1.Resource("resourcequotas")
}

// open is a generic.StorageDecorator.
func (p inProcess) open(config *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error),
	newObject, newList func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	client, versioner, transformer := p.store.NewClient(), storage.APIObjectVersioner{}, config.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	raw, err := etcd3.New(client, p.store.Compactor(), config.Codec, newObject, newList, config.Prefix, prefix, config.GroupResource, transformer,
		config.LeaseManagerConfig, etcd3.NewDefaultDecoder(config.Codec, versioner), versioner)
	if err != nil {
		return nil, nil, fmt.Errorf("opening storage of %s: %w", config.GroupResource, err)
	}
	closeRaw := sync.OnceFunc(func() { // a kind and its status share it, and both close it
		raw.Close()
		_ = client.Close() // reports only that its context has ended
	})
	if !isCached(config.GroupResource) {
		return bookmarking{raw}, closeRaw, nil
	}
	cached, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage: raw, Versioner: versioner, GroupResource: config.GroupResource, EventsHistoryWindow: config.EventsHistoryWindow,
		ResourcePrefix: prefix, KeyFunc: key, NewFunc: newObject, NewListFunc: newList, GetAttrsFunc: attributes, IndexerFuncs: triggers,
		Indexers: indexers, Codec: config.Codec,
	})
	if err != nil {
		closeRaw()
		return nil, nil, fmt.Errorf("opening cache of %s: %w", config.GroupResource, err)
	}
	delegator := cacher.NewCacheDelegator(cached, raw)
	return delegator, sync.OnceFunc(func() {
		delegator.Stop()
		cached.Stop()
		closeRaw()
	}), nil
}

// bookmarking sends bookmarks to who asks for them, as the watch cache does: a watch that saw no change for minutes could otherwise not go
// on from where it ended, since the revision is removed, and all objects would be listed again. See etcd.Store for the interval.
type bookmarking struct{ storage.Interface }

func (s bookmarking) Watch(ctx context.Context, key string, o storage.ListOptions) (watch.Interface, error) {
	o.ProgressNotify = o.ProgressNotify || o.Predicate.AllowWatchBookmarks
	return s.Interface.Watch(ctx, key, o)
}

// asProtobuf stores definitions in protobuf, which the server reads several times as fast as the JSON of Kubernetes. It reads both. It
// stores them as v1; Kubernetes prefers v1beta1, which has a schema that several versions share only once.
type asProtobuf struct{ generic.RESTOptionsGetter }

func (p asProtobuf) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := p.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err == nil {
		options.StorageConfig.Codec = definitions.Codecs.CodecForVersions(protobuf.NewSerializer(definitions.Scheme, definitions.Scheme),
			definitions.Codecs.UniversalDeserializer(), apiextensionsv1.SchemeGroupVersion, runtime.InternalGroupVersioner)
	}
	return options, err
}
