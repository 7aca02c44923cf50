// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects stores the objects of the API server in the embedded etcd.
package objects

import (
	"context"
	"fmt"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
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
// goroutines and buffers take memory, and encode each request, response and event for it. It would also keep a watch cache of each kind, for
// a store that is far away and hundreds of watches: the objects, and those of the last minutes. Here, a watch is one of the store.
type inProcess struct {
	generic.RESTOptionsGetter
	store *etcd.Store
}

func (p inProcess) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := p.RESTOptionsGetter.GetRESTOptions(resource, example)
	options.Decorator = p.open
	return options, err
}

// open is a generic.StorageDecorator.
func (p inProcess) open(config *storagebackend.ConfigForResource, prefix string, key func(runtime.Object) (string, error),
	newObject, newList func() runtime.Object, attributes storage.AttrFunc, triggers storage.IndexerFuncs, indexers *cache.Indexers,
) (storage.Interface, factory.DestroyFunc, error) {
	client, versioner, transformer := p.store.NewClient(), storage.APIObjectVersioner{}, config.Transformer
	if transformer == nil {
		transformer = identity.NewEncryptCheckTransformer()
	}
	codec := config.Codec
	if _, ok := newObject().(*unstructured.Unstructured); ok {
		codec = &decodingOnce{Codec: config.Codec}
	}
	raw, err := etcd3.New(client, p.store.Compactor(), codec, newObject, newList, config.Prefix, prefix, config.GroupResource, transformer,
		config.LeaseManagerConfig, decoder{etcd3.NewDefaultDecoder(codec, versioner), etcd3.NewDefaultDecoder(config.Codec, versioner)}, versioner)
	if err != nil {
		return nil, nil, fmt.Errorf("opening storage of %s: %w", config.GroupResource, err)
	}
	return watchable{raw}, sync.OnceFunc(func() { // a kind and its status share it, and both close it
		raw.Close()
		_ = client.Close() // reports only that its context has ended
	}), nil
}

// A decoder does not look for the items of a list among what was decoded lately.
type decoder struct {
	etcd3.Decoder
	items etcd3.Decoder
}

func (d decoder) DecodeListItem(ctx context.Context, data []byte, rev uint64, newItem func() runtime.Object) (runtime.Object, error) {
	return d.items.DecodeListItem(ctx, data, rev, newItem)
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
