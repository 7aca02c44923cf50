// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects stores the objects of the API server in the embedded etcd.
package objects

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	definitions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
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

// isCached is true for kinds with a watch cache. Kubernetes has one for all kinds but Events, of which there are many and few are read. Of
// the groups without, there are few objects, which this process itself has in informers; a cache of each would take memory and wake an
// idle process more than once a second.
func isCached(kind schema.GroupResource) bool {
	switch kind.Group {
	case "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "rbac.authorization.k8s.io":
		return false
	}
	return kind.Resource != "events" && kind.Resource != "resourcequotas"
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
	closeRaw := func() {
		raw.Close()
		_ = client.Close() // it has no connection whose end could fail
	}
	if !isCached(config.GroupResource) {
		return raw, closeRaw, nil
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
	return delegator, func() {
		delegator.Stop()
		cached.Stop()
		closeRaw()
	}, nil
}

// asProtobuf stores definitions in protobuf, which the server reads several times as fast as the JSON of Kubernetes. It reads both.
type asProtobuf struct{ generic.RESTOptionsGetter }

func (p asProtobuf) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	options, err := p.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err == nil {
		options.StorageConfig.Codec = definitions.Codecs.CodecForVersions(protobuf.NewSerializer(definitions.Scheme, definitions.Scheme),
			definitions.Codecs.UniversalDeserializer(), apiextensionsv1.SchemeGroupVersion, runtime.InternalGroupVersioner)
	}
	return options, err
}
