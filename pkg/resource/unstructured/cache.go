// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured

import (
	"context"
	"fmt"
	"reflect"

	kube "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// A wrapper has an unstructured object: a Managed, a ProviderConfig, or a type that embeds one.
type wrapper interface {
	GetUnstructured() *kube.Unstructured
}

// Plain returns an object in the form that caches and watches use: of a wrapper such as Managed the plain unstructured object.
func Plain(o client.Object) client.Object {
	if w, ok := o.(wrapper); ok {
		return w.GetUnstructured()
	}
	return o
}

// Example returns an empty object of a kind in the form that caches and watches use: of the scheme's type, else plain unstructured.
func Example(s *runtime.Scheme, of schema.GroupVersionKind) client.Object {
	if s.Recognizes(of) {
		return objects.MustNew[client.Object](s, of)
	}
	o := &kube.Unstructured{}
	o.SetGroupVersionKind(of)
	return o
}

// As returns an object of a cache as a T. A plain unstructured one becomes a Managed or a ProviderConfig, which shares its content.
func As[T any](o runtime.Object) (as T, ok bool) {
	u, untyped := o.(*kube.Unstructured)
	if !untyped {
		as, ok = o.(T)
		return as, ok
	}
	if as, ok = any(Wrap(u)).(T); !ok {
		as, ok = any(&ProviderConfig{Unstructured: *u}).(T)
	}
	return as, ok
}

// List returns the objects of the kind of an example, as As does.
func List[T any](ctx context.Context, from client.Reader, s *runtime.Scheme, example client.Object, o ...client.ListOption) (all []T, err error) {
	kind, err := apiutil.GVKForObject(example, s)
	if err != nil {
		return nil, err
	}
	if !isUntyped(example) {
		return objects.List[T](ctx, from, s, kind, o...)
	}
	list := &kube.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := from.List(ctx, list, o...); err != nil {
		return nil, err
	}
	for i := range list.Items {
		one, ok := As[T](&list.Items[i])
		if !ok {
			return nil, fmt.Errorf("an object without a Go type does not satisfy %s", reflect.TypeFor[T]())
		}
		all = append(all, one)
	}
	return all, nil
}

// NewClient returns a client that reads wrappers such as Managed as plain unstructured objects, so that they can come from a cache.
func NewClient(c client.Client) client.Client { return unwrapper{c, c} }

// ClientOf returns the client of a manager, which reads unstructured objects from its cache like all others, whether or not
// manager.Options.Client.Cache.Unstructured is set.
func ClientOf(mgr cluster.Cluster) client.Client {
	return unwrapper{mgr.GetClient(), mgr.GetCache()}
}

type unwrapper struct {
	client.Client
	untyped client.Reader
}

// Get satisfies client.Reader.
func (u unwrapper) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if o = Plain(o); isUntyped(o) {
		return u.untyped.Get(ctx, key, o, opts...)
	}
	return u.Client.Get(ctx, key, o, opts...)
}

// List satisfies client.Reader.
func (u unwrapper) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if isUntyped(list) {
		return u.untyped.List(ctx, list, opts...)
	}
	return u.Client.List(ctx, list, opts...)
}

func isUntyped(o runtime.Object) bool {
	_, untyped := o.(runtime.Unstructured)
	return untyped
}
