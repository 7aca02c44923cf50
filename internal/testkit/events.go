// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/event"
)

// Events is an event.Recorder that keeps events in memory.
type Events struct {
	mu  sync.Mutex
	all []event.Event
}

// Event keeps an event.
func (e *Events) Event(_ context.Context, _ client.Object, recorded event.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, recorded)
	return nil
}

// All returns the events so far.
func (e *Events) All() []event.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// Take returns the reasons of the events so far, and forgets the events.
func (e *Events) Take() (reasons []event.Reason) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, recorded := range e.all {
		reasons = append(reasons, recorded.Reason)
	}
	e.all = nil
	return reasons
}
