// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package depot is a small provider for tests: a depot keeps items, is reached over HTTP with a key, and can be told to
// misbehave. Its kinds exist in both scopes.
package depot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/kinds"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Kinds of the provider.
func Kinds() kinds.Groups { return kinds.In("depot") }

// A Book counts what becomes of clients.
type Book struct {
	mu      sync.Mutex
	made    []provider.Connection[kinds.ConfigSpec]
	closed  int
	misused int // calls of closed clients
	fault   func(context.Context) error
}

// Fail makes the making of clients do this first.
func (b *Book) Fail(fault func(context.Context) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = fault
}

// Made returns what clients were made from, in order.
func (b *Book) Made() []provider.Connection[kinds.ConfigSpec] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]provider.Connection[kinds.ConfigSpec]{}, b.made...)
}

// Closed is how many clients were closed.
func (b *Book) Closed() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// Misused is how many calls closed clients made.
func (b *Book) Misused() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.misused
}

// A Client of a depot.
type Client struct {
	book   *Book
	url    string
	key    string
	http   *http.Client
	closed bool
}

// Clients are kept account of in the book.
func (b *Book) Clients(idle time.Duration) *provider.Clients[kinds.ConfigSpec, *Client] {
	return &provider.Clients[kinds.ConfigSpec, *Client]{
		Idle: idle,
		New: func(ctx context.Context, c provider.Connection[kinds.ConfigSpec]) (*Client, error) {
			b.mu.Lock()
			b.made = append(b.made, c)
			fault := b.fault
			b.mu.Unlock()
			if fault != nil {
				if err := fault(ctx); err != nil {
					return nil, err
				}
			}
			key := c.Credentials
			if key == nil {
				key = c.Secret["password"]
			}
			return &Client{book: b, url: c.Settings.Endpoint, key: strings.TrimSpace(string(key)), http: c.HTTPClient}, nil
		},
		Close: func(c *Client) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.closed++
			c.closed = true
		},
	}
}

var errNotFound = errors.New("there is no such item")

func (c *Client) do(ctx context.Context, method, name string, in, out any) error {
	c.book.mu.Lock()
	if c.closed {
		c.book.misused++
	}
	c.book.mu.Unlock()
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+"/"+name, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return errNotFound
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the depot answers %s", resp.Status)
	case out != nil:
		return json.NewDecoder(resp.Body).Decode(out)
	}
	return nil
}

// An item of either scope.
type item interface {
	resource.Managed
	Size() int
}

// external serves the items of one scope in one pass.
type external[T item] struct {
	*provider.Lease[*Client]
}

func (e external[T]) Observe(ctx context.Context, i T) (managed.ExternalObservation, error) {
	var have stored
	err := e.Client.do(ctx, http.MethodGet, meta.GetExternalName(i), nil, &have)
	if errors.Is(err, errNotFound) {
		return managed.ExternalObservation{}, nil
	}
	if err != nil {
		return managed.ExternalObservation{}, fmt.Errorf("cannot get item: %w", err)
	}
	i.SetConditions(xpv1.Available())
	owner := types.UID(have.Owner)
	return managed.ExternalObservation{
		ResourceExists: true, ResourceUpToDate: have.Size == i.Size(), Owner: &owner,
		ConnectionDetails: managed.ConnectionDetails{"size": fmt.Append(nil, have.Size)},
	}, nil
}

func (e external[T]) Create(ctx context.Context, i T) (managed.ExternalCreation, error) {
	return managed.ExternalCreation{}, e.put(ctx, i)
}

func (e external[T]) Update(ctx context.Context, i T) (managed.ExternalUpdate, error) {
	return managed.ExternalUpdate{}, e.put(ctx, i)
}

func (e external[T]) put(ctx context.Context, i T) error {
	wanted := stored{Size: i.Size(), Owner: string(i.GetUID())}
	return e.Client.do(ctx, http.MethodPut, meta.GetExternalName(i), wanted, nil)
}

func (e external[T]) Delete(ctx context.Context, i T) error {
	return e.Client.do(ctx, http.MethodDelete, meta.GetExternalName(i), nil, nil)
}

func newExternal[T item](l *provider.Lease[*Client]) managed.TypedExternalClient[T] {
	return external[T]{l}
}

// Provider of a depot.
func Provider(clients *provider.Clients[kinds.ConfigSpec, *Client]) provider.Provider {
	return provider.Provider{
		Name:        "depot",
		CRDs:        CRDs(nil),
		AddToScheme: Kinds().AddToScheme,
		Configs:     []resource.ProviderConfig{&kinds.ProviderConfig{}, &kinds.TeamProviderConfig{}, &kinds.ClusterProviderConfig{}},
		Kinds: []provider.Kind{
			provider.KindOf(&kinds.Item{}, clients, newExternal[*kinds.Item]),
			provider.KindOf(&kinds.TeamItem{}, clients, newExternal[*kinds.TeamItem]),
		},
	}
}
