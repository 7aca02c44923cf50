// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

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
	doors.stop(t.Context())
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
		"manager stopped while in use": {func(c *cache[string], e *entry[string]) { c.stop(context.Background()); c.release(e) }, true},
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
			c.stop(t.Context())
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

// A process is a client that can end by itself, and stop its calls.
type process struct {
	done    chan struct{}
	stopped int
	stop    func()
}

func (p *process) Done() <-chan struct{} { return p.done }

// Stop satisfies Stopper.
func (p *process) Stop(context.Context) {
	p.stopped++
	p.stop()
}

// A nursery creates processes that share what Stop does.
type nursery struct {
	*Shared[*process]
	stop    func()
	created []*process

	mu     sync.Mutex
	closed []*process
}

func newNursery() *nursery {
	n := &nursery{stop: func() {}}
	n.Shared = NewShared(logr.Discard(), func(p *process) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.closed = append(n.closed, p)
	}, func(limits.Key) {})
	return n
}

func (n *nursery) get(t *testing.T, version byte) (p *process, release func(), err error) {
	return n.Get(t.Context(), func() (Wanted[*process], error) {
		return Wanted[*process]{Key: limits.Key{Name: "key"}, Version: limits.Version{version},
			New: func(context.Context, *limits.Limiter) (*process, error) {
				p := &process{done: make(chan struct{}), stop: n.stop}
				n.created = append(n.created, p)
				return p, nil
			}}, nil
	})
}

// A client that ended is replaced at its next use. One that ends again and again is created once a second.
func TestEndedClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNursery()
		first, release, err := n.get(t, 1)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		close(first.done)
		second, releaseSecond, err := n.get(t, 1)
		if err != nil || second == first || len(n.closed) > 0 {
			t.Fatalf("the ended client is replaced at once, and not closed while in use: %v, %d closed", err, len(n.closed))
		}
		release()
		synctest.Wait()
		if len(n.closed) != 1 || n.closed[0] != first {
			t.Errorf("closed: %v", n.closed)
		}
		close(second.done)
		for range 3 {
			if _, _, err := n.get(t, 1); !errors.Is(err, errEnded) || len(n.created) != 2 {
				t.Errorf("one that ends within a second of its creation is not replaced before: %d created, error %v", len(n.created), err)
			}
		}
		time.Sleep(errorBackoff)
		_, releaseThird, err := n.get(t, 1)
		if err != nil || len(n.created) != 3 {
			t.Errorf("after a second it is: %d created, error %v", len(n.created), err)
		}
		releaseSecond()
		releaseThird()
		n.Stop(t.Context())
		synctest.Wait()
		if len(n.closed) != 3 {
			t.Errorf("%d of 3 are closed", len(n.closed))
		}
	})
}

// A client that ends while a user is about to get it is not refused: another user may have worn it out, and it works until it is released.
func TestClientEndsBetweenGetAndWait(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		age  time.Duration
		want error
	}{
		"after a second":              {errorBackoff, nil},
		"as soon as it was created":   {errorBackoff - 1, errEnded},
		"long after it was created":   {time.Hour, nil},
		"at the time of its creation": {0, errEnded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCache(time.Hour, func(*process) {}, nil, func(limits.Key) {})
				defer c.stop(t.Context())
				of := &process{done: make(chan struct{})}
				first := c.replace(limits.Key{}, limits.Version{})
				c.fill(first, func() (*process, error) { return of, nil })
				synctest.Wait()
				time.Sleep(tc.age)
				second := c.get(limits.Key{}, limits.Version{})
				close(of.done)
				got, err := second.wait(t.Context())
				if !errors.Is(err, tc.want) || err == nil && got != of {
					t.Errorf("client %v, error %v, want %v", got, err, tc.want)
				}
				c.release(first)
				c.release(second)
			})
		})
	}
}

// Clients in use are asked to stop, also replaced ones, and are awaited. Others are closed.
func TestStopper(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		used          bool
		stop          func()
		release       time.Duration
		stops, closed int
		takes         time.Duration
	}{
		"not in use":             {used: false, closed: 2},
		"in use":                 {used: true, release: 10 * time.Second, stops: 2, closed: 2, takes: 10 * time.Second},
		"in use for too long":    {used: true, release: time.Hour, stops: 2, takes: stopTime},
		"panics when it is told": {used: true, stop: func() { panic("no") }, release: time.Second, stops: 2, closed: 2, takes: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNursery()
				if tc.stop != nil {
					n.stop = tc.stop
				}
				for version := range 2 {
					_, release, err := n.get(t, byte(version))
					if err != nil {
						t.Fatal(err)
					}
					if tc.used {
						defer time.AfterFunc(tc.release, release).Stop()
					} else {
						release()
					}
				}
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), stopTime)
				defer cancel()
				n.Stop(ctx)
				synctest.Wait()
				if took := time.Since(began); took != tc.takes {
					t.Errorf("it took %s, want %s", took, tc.takes)
				}
				if stops := n.created[0].stopped + n.created[1].stopped; stops != tc.stops || len(n.closed) != tc.closed {
					t.Errorf("%d stopped, %d closed, want %d and %d", stops, len(n.closed), tc.stops, tc.closed)
				}
			})
		})
	}
}
