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

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
)

// stopGrace is how long changes may end by themselves before they are left to the journal, or the provider is asked to stop: many providers then
// abandon a request that has arrived, and nobody learns what it created.
const stopGrace = 5 * time.Second

// A Wear is when another process replaces one that grows: providers on terraform-plugin-framework keep some 12 KB of each call for ever, since
// Terraform ends them after minutes. Starts take at most a tenth of the time.
type Wear struct {
	// Growth is by how much more memory it takes than at first, as a fraction. Default: 0.15.
	Growth float64
	// Passes are between two looks at its memory. Default: 10, of 2 calls each.
	Passes int
	// Most is after how many passes it is replaced where its memory is not known. Default: 1000.
	Most int
}

// starts is how many times as long as its start a process serves at least.
const starts = 10

func (w Wear) withDefaults() Wear {
	return Wear{Growth: cmp.Or(w.Growth, 0.15), Passes: cmp.Or(w.Passes, 10), Most: cmp.Or(w.Most, 1000)}
}

// A Process is one of a provider that is configured. Each pass over an object uses a copy of its own.
type Process struct {
	*plugin.Provider
	*life
	Config     limits.Key
	System     xpv1.ExternalSystem // that the configuration leads to
	Version    limits.Version
	Configured plugin.Diagnostics // warnings about the configuration
	notes      notes
}

// A life is what all passes have in common that a process is lent to.
type life struct {
	wear    Wear
	serves  time.Time // at least until then
	done    chan struct{}
	worn    chan struct{}
	leaves  bool // changes to the journal when this process stops
	left    chan struct{}
	stopped atomic.Bool // the provider was asked to stop

	mu       sync.Mutex
	passes   int
	bare     int64 // memory at the first look
	grown    bool  // so much that another process replaces it
	stopping bool
	changing int
	changes  sync.WaitGroup // as many as changing
}

// use counts a pass. memory is that of the provider's process, 0 if it is not known.
func (l *life) use(memory func() int64) {
	l.mu.Lock()
	l.passes++
	look := l.passes%l.wear.Passes == 0
	l.mu.Unlock()
	if look {
		l.look(memory())
	}
}

// look ends the use of a process that has grown. One that changes something may run for long beside the next: it is used until that saves memory.
func (l *life) look(memory int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bare = cmp.Or(l.bare, memory)
	grown := memory - l.bare
	worn := grown > int64(l.wear.Growth*float64(l.bare)) && (l.changing == 0 || grown > l.bare)
	if memory == 0 {
		worn = l.passes >= l.wear.Most && l.changing == 0
	}
	if worn && !l.grown && time.Now().After(l.serves) {
		l.grown = true
		close(l.worn)
	}
}

func (l *life) hasGrown() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.grown
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

// Stop has no change begin. A while later it leaves those in progress to the journal, or has the provider end them.
func (p *Process) Stop(ctx context.Context) {
	p.mu.Lock()
	p.stopping = true
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.changes.Wait()
	}()
	lasting := true
	select {
	case <-ended:
		lasting = false
	case <-time.After(stopGrace):
	case <-ctx.Done():
	}
	if lasting && p.leaves {
		p.Leave()
		close(p.left)
		return
	}
	p.stopped.Store(true)
	p.Provider.Stop(ctx)
}

// Apply is Provider.Apply until the change is left to the journal: then it is not known here what it changes.
func (p *Process) Apply(ctx context.Context, r plugin.Resource, plan *plugin.Plan, object, after string) (plugin.State, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.left:
			cancel()
		case <-ctx.Done():
		}
	}()
	return p.Provider.Apply(ctx, r, plan, object, after)
}

// Stopped is true once the provider was asked to end its calls: what fails then may have been abandoned.
func (l *life) Stopped() bool { return l.stopped.Load() }

// notes are what a pass gets of its provider.
type notes struct {
	mu       sync.Mutex
	warnings plugin.Diagnostics
	values   []cty.Value // of resources
}

// lend returns a process for one pass.
func lend(p *Process) *Process {
	p.use(p.OwnMemory)
	provider := *p.Provider
	own := &Process{Provider: &provider, life: p.life, Config: p.Config, System: p.System, Version: p.Version, Configured: p.Configured}
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

// Warnings are what the provider warned of during the pass.
func (p *Process) Warnings() plugin.Diagnostics {
	p.notes.mu.Lock()
	defer p.notes.mu.Unlock()
	return slices.Clone(p.notes.warnings)
}

// Answers are the values that the provider returned during the pass, whose secrets errors and warnings may repeat.
func (p *Process) Answers() []cty.Value {
	p.notes.mu.Lock()
	defer p.notes.mu.Unlock()
	return slices.Clone(p.notes.values)
}
