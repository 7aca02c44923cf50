// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package witness

import (
	"context"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/event"
)

// Events is a recorder that keeps events in memory.
type Events struct {
	mu  sync.Mutex
	all []event.Event
}

// Event keeps an event.
func (e *Events) Event(_ context.Context, _ client.Object, told event.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, told)
	return nil
}

// All are the events so far.
func (e *Events) All() []event.Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.all)
}

// Take returns the reasons of the events so far, and forgets them.
func (e *Events) Take() (reasons []event.Reason) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, told := range e.all {
		reasons = append(reasons, told.Reason)
	}
	e.all = nil
	return reasons
}
