// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// A door counts the calls in it. It must not be closed meanwhile.
type door struct{ passing, closed atomic.Int64 }

// Many users get, replace and forget clients of a few ProviderConfigs while idle ones expire.
func TestCache(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var created []*door
	doors := newCache(time.Millisecond, func(d *door) {
		if d.closed.Add(1) > 1 || d.passing.Load() > 0 {
			t.Error("a client was closed twice, or while in use (R232)")
		}
	}, nil, nil)
	create := func() (*door, error) {
		mu.Lock()
		defer mu.Unlock()
		created = append(created, &door{})
		return created[len(created)-1], nil
	}
	var users sync.WaitGroup
	for range 16 {
		users.Go(func() {
			for range 2000 {
				key, from := limits.Key{Name: string(rune('a' + rand.IntN(3)))}, limits.Version{byte(rand.IntN(2))}
				e := doors.get(key, from)
				if e == nil {
					e = doors.replace(key, from)
					doors.fill(e, create)
				}
				d, err := e.wait(t.Context())
				if err != nil {
					t.Error(err)
				}
				d.passing.Add(1)
				if d.closed.Load() > 0 {
					t.Error("a closed client is in use (R232)")
				}
				if rand.IntN(50) == 0 {
					doors.forget(key)
				}
				d.passing.Add(-1)
				doors.release(e)
			}
		})
	}
	users.Wait()
	doors.stop()
	t.Run("each client is closed in the end (R232)", func(t *testing.T) {
		deadline := time.Now().Add(10 * time.Second)
		for _, d := range created {
			for d.closed.Load() == 0 && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond)
			}
			if d.closed.Load() == 0 {
				t.Fatal("one is still open")
			}
		}
	})
}

// One client from its creation to its end, second by second.
func TestCacheLife(t *testing.T) {
	t.Parallel()
	key, first, second := limits.Key{Name: "key"}, limits.Version{1}, limits.Version{2}
	cases := map[string]struct {
		act    func(*cache[string], *entry[string]) // e is in use
		closed bool
	}{
		"in use (R232)":           {func(*cache[string], *entry[string]) {}, false},
		"idle, but not for long":  {func(c *cache[string], e *entry[string]) { c.release(e); time.Sleep(59 * time.Second) }, false},
		"idle for a while (R232)": {func(c *cache[string], e *entry[string]) { c.release(e); time.Sleep(61 * time.Second) }, true},
		"idle, then in use again": {func(c *cache[string], e *entry[string]) {
			c.release(e)
			time.Sleep(59 * time.Second)
			if c.get(key, first) != e || c.get(key, second) != nil {
				panic("the version decides which client is returned")
			}
			time.Sleep(time.Hour)
		}, false},
		"forgotten in use (N12)": {func(c *cache[string], _ *entry[string]) { c.forget(key) }, false},
		"forgotten (N12)":        {func(c *cache[string], e *entry[string]) { c.forget(key); c.release(e) }, true},
		"replaced (R232)": {func(c *cache[string], e *entry[string]) {
			c.replace(key, second)
			c.release(e)
		}, true},
		"manager stopped while in use": {func(c *cache[string], e *entry[string]) { c.stop(); c.release(e) }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var closed []string
				c := newCache(time.Minute, func(v string) { closed = append(closed, v) }, nil, nil)
				e := c.replace(key, first)
				c.fill(e, func() (string, error) { return "client", nil })
				if got, err := e.wait(t.Context()); got != "client" || err != nil {
					t.Fatal(got, err)
				}
				synctest.Wait()
				tc.act(c, e)
				synctest.Wait()
				if (len(closed) == 1) != tc.closed {
					t.Errorf("closed: %v, want %v", closed, tc.closed)
				}
			})
		})
	}
	t.Run("created after the manager stopped (R232)", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			closed := false
			c := newCache(time.Minute, func(string) { closed = true }, nil, nil)
			c.stop()
			e := c.replace(key, first)
			c.fill(e, func() (string, error) { return "late", nil })
			_, err := e.wait(t.Context())
			c.release(e)
			synctest.Wait()
			if err != nil || !closed {
				t.Errorf("closed: %v, error %v", closed, err)
			}
		})
	})
}
