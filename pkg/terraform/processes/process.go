// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
)

// stopGrace is how long changes may end by themselves before the provider is asked to stop: many providers then abandon a request that has
// arrived, and nobody learns what it created.
const stopGrace = 5 * time.Second

// A Wear is when another process replaces one: providers on terraform-plugin-framework keep some 12 KB of each call for ever, since Terraform
// ends them after minutes.
type Wear struct {
	Passes int           // default: 1000, of 4 calls each
	Age    time.Duration // default: a minute
}

func (w Wear) withDefaults() Wear {
	return Wear{Passes: cmp.Or(w.Passes, 1000), Age: cmp.Or(w.Age, time.Minute)}
}

// A Process is one of a provider that is configured. Each pass over an object uses a copy of its own.
type Process struct {
	*plugin.Provider
	*life
	Config     limits.Key
	Version    limits.Version
	Configured plugin.Diagnostics // warnings about the configuration
	notes      notes
}

// A life is what all passes have in common that a process is lent to.
type life struct {
	wear    Wear
	began   time.Time
	done    chan struct{}
	worn    chan struct{}
	stopped atomic.Bool // the provider was asked to stop

	mu       sync.Mutex
	passes   int
	stopping bool
	changing int
	changes  sync.WaitGroup // as many as changing
}

// use counts a pass. A process that changes something is not replaced: it would run for as long as the change, beside the next one.
func (l *life) use() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.passes++
	if l.worn != nil && l.passes > l.wear.Passes && l.changing == 0 && time.Since(l.began) > l.wear.Age {
		close(l.worn)
		l.worn = nil
	}
}

// Done is closed when the process has ended, or is not to be used again: its binary is replaced, or it is worn.
func (p *Process) Done() <-chan struct{} { return p.done }

// Begin has Stop wait for a change until ended is called. It is false once the process is to stop.
func (l *life) Begin() (ended func(), begun bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping {
		return nil, false
	}
	l.changing++
	l.changes.Add(1)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changing--
		l.changes.Done()
	}, true
}

// Stop has no change begin and, a while later, the provider end its calls.
func (p *Process) Stop(ctx context.Context) {
	p.mu.Lock()
	p.stopping = true
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.changes.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(stopGrace):
	case <-ctx.Done():
	}
	p.stopped.Store(true)
	p.Provider.Stop(ctx)
}

// Stopped is true once the provider was asked to end its calls: what fails then may have been abandoned.
func (l *life) Stopped() bool { return l.stopped.Load() }

// notes are what a pass gets of its provider.
type notes struct {
	mu       sync.Mutex
	warnings plugin.Diagnostics
	values   []cty.Value // which the warnings may repeat
}

// lend returns a process for one pass.
func lend(p *Process) *Process {
	p.use()
	provider := *p.Provider
	own := &Process{Provider: &provider, life: p.life, Config: p.Config, Version: p.Version, Configured: p.Configured}
	n := &own.notes
	provider.Warned = func(d plugin.Diagnostics) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.warnings = append(n.warnings, d...)
	}
	provider.Seen = func(value cty.Value) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.values = append(n.values, value)
	}
	return own
}

// Warnings are what the provider warned of during the pass, and the values that it returned then, whose secrets the warnings may repeat.
func (p *Process) Warnings() (plugin.Diagnostics, []cty.Value) {
	p.notes.mu.Lock()
	defer p.notes.mu.Unlock()
	return slices.Clone(p.notes.warnings), slices.Clone(p.notes.values)
}
