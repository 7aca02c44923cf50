// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
)

// States of objects. Each service uses some of them.
const (
	// StatusCreating: the object is being created.
	StatusCreating = "CREATING"
	// StatusOnline: the server accepts connections.
	StatusOnline = "ONLINE"
	// StatusAvailable: the object can be used.
	StatusAvailable = "AVAILABLE"
	// StatusUpdating: a change is being applied.
	StatusUpdating = "UPDATING"
	// StatusDeleting: the object is being deleted. It is not found once that is done.
	StatusDeleting = "DELETING"
	// StatusFailed: the server is down for the reason in Message. The cloud retries automatically, at least every ten seconds.
	StatusFailed = "FAILED"
)

// Collection calls the routes of the objects of one type. Service packages use it to implement their typed methods; errors are
// those of Client.Do.
type Collection[T any] struct {
	client      *Client
	path, field string
}

// NewCollection returns the collection at a path, which is relative to the project. field is the field of the answer to List.
func NewCollection[T any](c *Client, path, field string) Collection[T] {
	return Collection[T]{client: c, path: path, field: field}
}

// Get returns an object.
func (c Collection[T]) Get(ctx context.Context, id string) (*T, error) {
	return c.call(ctx, Request{Method: http.MethodGet, Path: c.object(id)})
}

// List returns the objects that have all of the labels; no labels select all objects.
func (c Collection[T]) List(ctx context.Context, labels map[string]string) (objects []T, err error) {
	query, answer := url.Values{}, map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		query.Add("label", key+"="+labels[key])
	}
	if _, err := c.client.Do(ctx, Request{Method: http.MethodGet, Path: c.path, Query: query}, &answer); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(answer[c.field], &objects); err != nil {
		return nil, fmt.Errorf("decoding %s of %s: %w", c.field, c.path, err)
	}
	return objects, nil
}

// Create creates an object and decodes the answer into created.
func (c Collection[T]) Create(ctx context.Context, in, created any, opts ...CallOption) (Answer, error) {
	return c.client.Do(ctx, Request{Method: http.MethodPost, Path: c.path, Body: in}, created, opts...)
}

// Update changes an object and returns it.
func (c Collection[T]) Update(ctx context.Context, id string, in any) (*T, error) {
	return c.call(ctx, Request{Method: http.MethodPatch, Path: c.object(id), Body: in})
}

// Invoke calls a verb of an object, other than those of HTTP, and returns the object.
func (c Collection[T]) Invoke(ctx context.Context, id, verb string, in any) (*T, error) {
	return c.call(ctx, Request{Method: http.MethodPost, Path: c.object(id) + ":" + verb, Body: in})
}

// Delete deletes an object.
func (c Collection[T]) Delete(ctx context.Context, id string) error {
	_, err := c.client.Do(ctx, Request{Method: http.MethodDelete, Path: c.object(id)}, nil)
	return err
}

func (c Collection[T]) object(id string) string { return c.path + "/" + url.PathEscape(id) }

func (c Collection[T]) call(ctx context.Context, req Request) (*T, error) {
	object := new(T)
	if _, err := c.client.Do(ctx, req, object); err != nil {
		return nil, err
	}
	return object, nil
}
