// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects creates, patches and unwraps API objects for controllers, and joins their maps.
package objects

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// MustNew returns an empty object. It panics only where the program was put together wrongly.
func MustNew[T any](scheme *runtime.Scheme, kind schema.GroupVersionKind) T {
	o, ok := resource.MustCreateObject(kind, scheme).(T)
	if !ok {
		panic(fmt.Sprintf("the type of kind %s does not satisfy %s", kind, reflect.TypeFor[T]()))
	}
	return o
}

// NewList returns an empty list of objects of the kind.
func NewList(scheme *runtime.Scheme, kind schema.GroupVersionKind) (client.ObjectList, error) {
	o, err := scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err != nil {
		return nil, err
	}
	list, ok := o.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%T is not a list of objects", o)
	}
	return list, nil
}

// MustNewList is NewList that panics: use it where only a program that is put together wrongly lacks the kind.
func MustNewList(scheme *runtime.Scheme, kind schema.GroupVersionKind) client.ObjectList {
	list, err := NewList(scheme, kind)
	if err != nil {
		panic(err)
	}
	return list
}

// List returns the objects of a kind. It fails for one that is no T.
func List[T any](ctx context.Context, from client.Reader, scheme *runtime.Scheme, kind schema.GroupVersionKind,
	o ...client.ListOption) (all []T, err error) {
	list, err := NewList(scheme, kind)
	if err != nil {
		return nil, err
	}
	if err := from.List(ctx, list, o...); err != nil {
		return nil, err
	}
	err = apimeta.EachListItem(list, func(item runtime.Object) error {
		one, ok := item.(T)
		if !ok {
			return fmt.Errorf("%T does not satisfy %s", item, reflect.TypeFor[T]())
		}
		all = append(all, one)
		return nil
	})
	return all, err
}

// Metadata returns an empty object that holds nothing but metadata.
func Metadata(kind schema.GroupVersionKind) (o *metav1.PartialObjectMetadata) {
	o = &metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(kind)
	return o
}

// FromInformer returns the object that an informer hands to its handlers, also of a deletion that it missed; nil for none.
func FromInformer(of any) client.Object {
	if last, ok := of.(toolscache.DeletedFinalStateUnknown); ok {
		of = last.Obj
	}
	o, _ := of.(client.Object)
	return o
}

// Patch stores what is changed about an object, guarded by its resource version, and returns what is stored then. The given
// object stays as it is.
func Patch[T client.Object](ctx context.Context, c client.Client, o T, change func(T)) (T, error) {
	changed := o.DeepCopyObject().(T)
	change(changed)
	return changed, c.Patch(ctx, changed, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
}

// PatchStatus is Patch for the status.
func PatchStatus[T client.Object](ctx context.Context, c client.Client, o T, change func(T)) (T, error) {
	changed := o.DeepCopyObject().(T)
	change(changed)
	return changed, c.Status().Patch(ctx, changed, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{}))
}

// IsAbsent is true for an error that reports an object, or its kind, absent.
func IsAbsent(err error) bool { return apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// IsOf is true for a reference to an object of the kind, of whatever version.
func IsOf(ref *corev1.ObjectReference, kind schema.GroupVersionKind) bool {
	return ref != nil && ref.GroupVersionKind().GroupKind() == kind.GroupKind()
}

// Shorten returns at most so many bytes of a text, to repeat in a message what a user wrote.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Union returns a new map with the entries of all; the last one that has a key wins.
func Union[M ~map[string]V, V any](all ...M) M {
	joined := M{}
	for _, some := range all {
		maps.Copy(joined, some)
	}
	return joined
}
