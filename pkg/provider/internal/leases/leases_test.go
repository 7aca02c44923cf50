// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package leases_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/bowline-dev/bowline/pkg/provider/internal/leases"
)

// A door is shared, and may be closed once nobody goes through.
type door struct {
	through atomic.Int64
	closed  atomic.Int64
}

// Many take, replace and forget values of a few keys at the same time, while unused ones are swept away.
func TestPool(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var made []*door
	pool := leases.New[int, int](time.Millisecond, func(d *door) {
		if d.closed.Add(1) > 1 || d.through.Load() > 0 {
			t.Error("R232 a value was freed twice, or while somebody used it")
		}
	}, logr.Discard())
	make := func() (*door, error) {
		mu.Lock()
		defer mu.Unlock()
		made = append(made, &door{})
		return made[len(made)-1], nil
	}
	ctx, stop := context.WithCancel(t.Context())
	var ended, users sync.WaitGroup
	ended.Go(func() { _ = pool.Run(ctx) })
	for range 16 {
		users.Go(func() {
			for range 2000 {
				key, state := rand.IntN(3), rand.IntN(2)
				value := pool.Take(key, state)
				if value == nil {
					value, _ = pool.Replace(key, state)
					pool.Make(value, make)
				}
				d, err := value.Wait(t.Context())
				if err != nil {
					t.Error(err)
				}
				d.through.Add(1)
				if d.closed.Load() > 0 {
					t.Error("R232 a value is used that was freed")
				}
				if rand.IntN(50) == 0 {
					pool.Forget(key)
				}
				d.through.Add(-1)
				pool.Release(value)
			}
		})
	}
	users.Wait()
	stop()
	ended.Wait()
	t.Run("R232 each value is freed in the end", func(t *testing.T) {
		deadline := time.After(10 * time.Second)
		for _, d := range made {
			for d.closed.Load() == 0 {
				select {
				case <-deadline:
					t.Fatal("one is not")
				case <-time.After(time.Millisecond):
				}
			}
		}
	})
}

// A value that comes after the end is freed when it is returned.
func TestAfterTheEnd(t *testing.T) {
	t.Parallel()
	freed := make(chan string, 1)
	pool := leases.New[string, int](time.Hour, func(v string) { freed <- v }, logr.Discard())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := pool.Run(ctx); err != nil {
		t.Fatal(err)
	}
	late, _ := pool.Replace("key", 1)
	pool.Make(late, func() (string, error) { return "late", nil })
	if _, err := late.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	pool.Release(late)
	t.Run("R232 nothing is left behind", func(t *testing.T) {
		select {
		case <-freed:
		case <-time.After(10 * time.Second):
			t.Error("the value is not freed")
		}
	})
}

// Two users of one state share a value; another state makes another, and the old one goes with its last user.
func Example() {
	pool := leases.New[string, int](time.Hour, func(v string) { fmt.Println("freed:", v) }, logr.Discard())
	old, _ := pool.Replace("key", 1)
	pool.Make(old, func() (string, error) { return "first", nil })
	value, _ := old.Wait(context.Background())
	fmt.Println(value, pool.Take("key", 1) == old, pool.Take("key", 2) == nil)

	_, changed := pool.Replace("key", 2)
	fmt.Println(changed, old.Retired())
	pool.Release(old)
	pool.Release(old)
	// Output:
	// first true true
	// true true
	// freed: first
}
