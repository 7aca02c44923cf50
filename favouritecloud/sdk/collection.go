// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sdk

import (
	"context"
	"net/http"
	"net/url"
)

// States of objects. Each service uses some of them.
const (
	StatusCreating  = "CREATING"  // the object is being created
	StatusOnline    = "ONLINE"    // the server accepts connections
	StatusAvailable = "AVAILABLE" // the object can be used
	StatusUpdating  = "UPDATING"  // a change is being applied
	StatusDeleting  = "DELETING"  // the object is being deleted. It is not found once that is done.
	StatusFailed    = "FAILED"    // the server is down for the reason in Message. The cloud retries within ten seconds.
)

// Collection calls the routes of the objects of one type for one project. Object is an object in an answer, Created the answer to
// a create request; In and Change describe a create and an update. It is safe for concurrent use. Errors about one object satisfy
// IsNotFound when there is none.
type Collection[Object, Created, In, Change any] struct {
	client      *Client
	path, field string
}

// NewCollection returns the collection at a path, which is relative to the project. field is the field of the answer to List.
func NewCollection[Object, Created, In, Change any](c *Client, path, field string) *Collection[Object, Created, In, Change] {
	return &Collection[Object, Created, In, Change]{client: c, path: inProject(c.project, path), field: field}
}

// Credentials are the part of the answer to a create request that no other answer contains.
type Credentials struct {
	Password string `json:"password"` // the password of the server at the time of the request
	Replayed bool   `json:"-"`        // true for the answer to an earlier request with the same idempotency key
}

func (c *Credentials) setReplayed(replayed bool) { c.Replayed = replayed }

// Get returns an object.
func (c *Collection[Object, Created, In, Change]) Get(ctx context.Context, id string) (*Object, error) {
	return c.call(ctx, http.MethodGet, id, nil)
}

// List returns the objects that have all of the labels, ordered by id or name; no labels select all objects.
func (c *Collection[Object, Created, In, Change]) List(ctx context.Context, labels map[string]string) ([]Object, error) {
	query, answer := url.Values{}, map[string][]Object{}
	for key, value := range labels {
		query.Add("label", key+"="+value)
	}
	_, err := c.client.do(ctx, request{method: http.MethodGet, path: c.path, query: query}, &answer)
	return answer[c.field], err
}

// Create creates an object. The error satisfies IsExists when its name is taken.
func (c *Collection[Object, Created, In, Change]) Create(ctx context.Context, in In, opts ...CallOption) (*Created, error) {
	created := new(Created)
	replayed, err := c.client.do(ctx, request{method: http.MethodPost, path: c.path, body: in}, created, opts...)
	if err != nil {
		return nil, err
	}
	if replayable, ok := any(created).(interface{ setReplayed(replayed bool) }); ok {
		replayable.setReplayed(replayed)
	}
	return created, nil
}

// Update changes an object and returns it.
func (c *Collection[Object, Created, In, Change]) Update(ctx context.Context, id string, in Change) (*Object, error) {
	return c.call(ctx, http.MethodPatch, id, in)
}

// Invoke calls a verb of an object, other than those of HTTP, and returns the object.
func (c *Collection[Object, Created, In, Change]) Invoke(ctx context.Context, id, verb string, in any) (*Object, error) {
	return c.call(ctx, http.MethodPost, id+":"+verb, in)
}

// Delete deletes an object.
func (c *Collection[Object, Created, In, Change]) Delete(ctx context.Context, id string) error {
	_, err := c.call(ctx, http.MethodDelete, id, nil)
	return err
}

func (c *Collection[Object, Created, In, Change]) call(ctx context.Context, method, id string, body any) (*Object, error) {
	object := new(Object)
	if _, err := c.client.do(ctx, request{method: method, path: c.path + "/" + url.PathEscape(id), body: body}, object); err != nil {
		return nil, err
	}
	return object, nil
}
