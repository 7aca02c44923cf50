// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/clients"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// depotKinds are the kinds of the test provider, in both scopes.
func depotKinds() kinds.Groups { return kinds.In("depot") }

// depotCRDs are the definitions of the kinds after change, which may be nil.
func depotCRDs(change func(*apiextensionsv1.CustomResourceDefinition)) fs.FS {
	files := fstest.MapFS{}
	for _, d := range depotKinds().Definitions() {
		if change != nil {
			change(d)
		}
		content, err := yaml.Marshal(d)
		if err != nil {
			panic(err)
		}
		files[d.Name+".yaml"] = &fstest.MapFile{Data: content}
	}
	return files
}

// newProvider returns a provider of items in a depot.
func newProvider(factory *clients.Factory[kinds.ConfigSpec, *depotClient]) provider.Provider {
	return provider.Provider{
		Name:        "depot",
		CRDs:        depotCRDs(nil),
		AddToScheme: depotKinds().AddToScheme,
		Configs:     []resource.ProviderConfig{&kinds.ProviderConfig{}, &kinds.TeamProviderConfig{}, &kinds.ClusterProviderConfig{}},
		Kinds: []provider.Kind{
			provider.KindOf(&kinds.Item{}, factory, newExternal[*kinds.Item]),
			provider.KindOf(&kinds.TeamItem{}, factory, newExternal[*kinds.TeamItem]),
		},
	}
}

// A depotClient is the vendor's client of a depot.
type depotClient struct {
	journal *clientJournal
	url     string
	key     string
	http    *http.Client
	closed  bool
}

// A clientJournal records the creation and use of clients.
type clientJournal struct {
	mu      sync.Mutex
	created []clients.Connection[kinds.ConfigSpec]
	closed  int
	misused int // calls of closed clients
	fault   func(context.Context) error
}

// fail makes the creation of clients call fault first.
func (j *clientJournal) fail(fault func(context.Context) error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fault = fault
}

// connections that clients were created from, in order.
func (j *clientJournal) connections() []clients.Connection[kinds.ConfigSpec] {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.created)
}

func (j *clientJournal) closedClients() int { return locked(&j.mu, &j.closed) }
func (j *clientJournal) misusedCalls() int  { return locked(&j.mu, &j.misused) }

func locked(mu *sync.Mutex, n *int) int {
	mu.Lock()
	defer mu.Unlock()
	return *n
}

// factory creates clients that the journal records.
func (j *clientJournal) factory(idle time.Duration) *clients.Factory[kinds.ConfigSpec, *depotClient] {
	return &clients.Factory[kinds.ConfigSpec, *depotClient]{
		Idle: idle,
		New: func(ctx context.Context, c clients.Connection[kinds.ConfigSpec]) (*depotClient, error) {
			j.mu.Lock()
			j.created = append(j.created, c)
			fault := j.fault
			j.mu.Unlock()
			if fault != nil {
				if err := fault(ctx); err != nil {
					return nil, err
				}
			}
			key := c.Credentials
			if key == nil {
				key = c.Secret["password"]
			}
			return &depotClient{journal: j, url: c.Settings.Endpoint, key: strings.TrimSpace(string(key)), http: c.HTTPClient}, nil
		},
		Close: func(c *depotClient) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.closed++
			c.closed = true
		},
	}
}

var errNotFound = errors.New("there is no such item")

func (c *depotClient) do(ctx context.Context, method, name string, in, out any) error {
	c.journal.mu.Lock()
	if c.closed {
		c.journal.misused++
	}
	c.journal.mu.Unlock()
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

// external is the external client of items of one scope.
type external[T item] struct {
	*clients.Lease[*depotClient]
}

type item interface {
	resource.Managed
	Parameters() *shop.ItemParameters
}

func newExternal[T item](l *clients.Lease[*depotClient]) managed.TypedExternalClient[T] {
	return external[T]{l}
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
		ResourceExists: true, ResourceUpToDate: have.Size == ptr.Deref(i.Parameters().Size, 0), Owner: &owner,
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
	wanted := stored{Size: ptr.Deref(i.Parameters().Size, 0), Owner: string(i.GetUID())}
	return e.Client.do(ctx, http.MethodPut, meta.GetExternalName(i), wanted, nil)
}

func (e external[T]) Delete(ctx context.Context, i T) error {
	return e.Client.do(ctx, http.MethodDelete, meta.GetExternalName(i), nil, nil)
}

// A depot is an external system that keeps items and serves requests with one of its keys.
type depot struct {
	URL string

	mu       sync.Mutex
	keys     map[string]bool
	items    map[string]stored
	firsts   map[string]time.Time // when an item was first served by a key, by both
	requests int
	refused  int
	held     chan struct{} // requests wait until it is closed
	waiting  int
	inFlight int
	peak     int // of inFlight
}

type stored struct {
	Size  int64  `json:"size"`
	Owner string `json:"owner"`
}

// newDepot starts an empty depot.
func newDepot(keys ...string) (d *depot, stop func()) {
	d = &depot{keys: map[string]bool{}, items: map[string]stored{}, firsts: map[string]time.Time{}}
	d.allow(keys...)
	server := httptest.NewServer(http.HandlerFunc(d.serve))
	d.URL = server.URL
	return d, server.Close
}

func (d *depot) allow(keys ...string)  { d.set(true, keys) }
func (d *depot) revoke(keys ...string) { d.set(false, keys) }

func (d *depot) set(allowed bool, keys []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, key := range keys {
		d.keys[key] = allowed
	}
}

// hold makes requests wait until release is called.
func (d *depot) hold() (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	held := make(chan struct{})
	d.held = held
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.held == held {
			d.held = nil
		}
		close(held)
	}
}

func (d *depot) waitingRequests() int { return locked(&d.mu, &d.waiting) }
func (d *depot) allRequests() int     { return locked(&d.mu, &d.requests) }
func (d *depot) refusedRequests() int { return locked(&d.mu, &d.refused) }
func (d *depot) mostInFlight() int    { return locked(&d.mu, &d.peak) }

func (d *depot) itemCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.items)
}

// lose deletes all items.
func (d *depot) lose() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.items)
}

// served is true if an item was served by a key.
func (d *depot) served(key, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.firsts[key+"/"+name].IsZero()
}

// lastFirst returns when the last item was first served by a key.
func (d *depot) lastFirst(key string) (last time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for use, first := range d.firsts {
		if strings.HasPrefix(use, key) && first.After(last) {
			last = first
		}
	}
	return last
}

func (d *depot) serve(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inFlight++
	d.peak = max(d.peak, d.inFlight)
	if held := d.held; held != nil {
		d.waiting++
		d.mu.Unlock()
		<-held
		d.mu.Lock()
		d.waiting--
	}
	d.inFlight--
	d.requests++
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !d.keys[key] {
		d.refused++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	name := r.URL.Path
	if use := key + name; d.firsts[use].IsZero() {
		d.firsts[use] = time.Now()
	}
	have, ok := d.items[name]
	switch r.Method {
	case http.MethodGet:
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(have)
	case http.MethodPut:
		if err := json.NewDecoder(r.Body).Decode(&have); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		d.items[name] = have
	case http.MethodDelete:
		delete(d.items, name)
	}
}
