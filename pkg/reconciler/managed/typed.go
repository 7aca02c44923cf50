// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"github.com/bowline-dev/bowline/pkg/resource"
)

// typedConnecter lets a connecter of one type serve a reconciler of any, so that no author asserts types by hand.
type typedConnecter[T resource.Managed] struct {
	TypedExternalConnecter[T]
}

func (c typedConnecter[T]) Connect(ctx context.Context, mg resource.Managed) (ExternalClient, error) {
	external, err := callWith(ctx, mg, c.TypedExternalConnecter.Connect)
	if err != nil {
		return nil, err
	}
	return typedClient[T]{external}, nil
}

type typedClient[T resource.Managed] struct {
	typed TypedExternalClient[T]
}

func (c typedClient[T]) Observe(ctx context.Context, mg resource.Managed) (ExternalObservation, error) {
	return callWith(ctx, mg, c.typed.Observe)
}

func (c typedClient[T]) Create(ctx context.Context, mg resource.Managed) (ExternalCreation, error) {
	return callWith(ctx, mg, c.typed.Create)
}

func (c typedClient[T]) Update(ctx context.Context, mg resource.Managed) (ExternalUpdate, error) {
	return callWith(ctx, mg, c.typed.Update)
}

func (c typedClient[T]) Delete(ctx context.Context, mg resource.Managed) error {
	_, err := callWith(ctx, mg, func(ctx context.Context, mg T) (any, error) { return nil, c.typed.Delete(ctx, mg) })
	return err
}

// A finder finds what an interrupted creation left behind.
type finder = func(context.Context, resource.Managed) (externalName string, err error)

func (c typedClient[T]) finder() finder {
	typed, ok := optional[TypedCreateFinder[T]](c.typed)
	if !ok {
		return nil
	}
	return func(ctx context.Context, mg resource.Managed) (string, error) {
		return callWith(ctx, mg, typed.FindCreated)
	}
}

// finderOf returns the finder of a client, nil if it has none.
func finderOf(client any) finder {
	if f, ok := optional[CreateFinder](client); ok {
		return f.FindCreated
	}
	if typed, ok := optional[interface{ finder() finder }](client); ok {
		return typed.finder()
	}
	return nil
}

// Unwrap gives access to the optional interfaces of the author's client.
func (c typedClient[T]) Unwrap() any { return c.typed }

// callWith calls a method of an author with the managed resource as the author's type (R29).
func callWith[T resource.Managed, R any](ctx context.Context, mg resource.Managed, call func(context.Context, T) (R, error)) (result R, err error) {
	typed, ok := mg.(T)
	if !ok {
		return result, fmt.Errorf("managed resource is not a %s", nameOf(reflect.TypeFor[T]()))
	}
	return call(ctx, typed)
}

// nameOf returns the name by which an author knows a type, which need not be a pointer and need not have one.
func nameOf(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return cmp.Or(t.Name(), t.String())
}

// optional finds an optional interface of a client, or of the client that it wraps.
func optional[I any](client any) (I, bool) {
	for {
		if i, ok := client.(I); ok {
			return i, true
		}
		wrapper, ok := client.(interface{ Unwrap() any })
		if !ok {
			var none I
			return none, false
		}
		client = wrapper.Unwrap()
	}
}
