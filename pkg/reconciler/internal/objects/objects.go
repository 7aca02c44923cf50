// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package objects has the first and the last that controllers see of objects: empty ones, and what informers tell of.
package objects

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// MustNew makes an empty object. It fails only where the program was put together wrongly.
func MustNew[T any](scheme *runtime.Scheme, kind schema.GroupVersionKind) T {
	o, ok := resource.MustCreateObject(kind, scheme).(T)
	if !ok {
		panic(fmt.Sprintf("the type of kind %s does not satisfy %s", kind, reflect.TypeFor[T]()))
	}
	return o
}

// Told is what an informer tells of, nil for nothing.
func Told(of any) client.Object {
	if last, ok := of.(toolscache.DeletedFinalStateUnknown); ok {
		of = last.Obj
	}
	o, _ := of.(client.Object)
	return o
}
