// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package progress measures from a watch how many objects are done, and how long each of them took.
//
//	tracker := progress.NewTracker()
//	go tracker.Follow(stream)
//	work := tracker.Expect(1000, progress.ReadyAt(1))
//	work.Begin(name) // right before the request that creates the object of that name
//	...
//	took, end, err := work.Wait(ctx)
//
// It decodes only the needed part of each event, to disturb the measurement little.
package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"
	"strings"
	"sync"
	"time"
)

// An Event is what is decoded of a watch event of a managed resource.
type Event struct {
	// Type is ADDED, MODIFIED, DELETED or ERROR.
	Type string `json:"type"`
	// Object as the event shows it.
	Object struct {
		Metadata struct {
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Status struct {
			Conditions []Condition `json:"conditions"`
			AtProvider struct {
				Size int `json:"size"`
			} `json:"atProvider"`
		} `json:"status"`
		// Message is that of an ERROR event.
		Message string `json:"message"`
	} `json:"object"`
}

// A Condition of the object.
type Condition struct {
	// Type of the condition.
	Type string `json:"type"`
	// Status is True, False or Unknown.
	Status string `json:"status"`
	// Reason for the status.
	Reason string `json:"reason"`
	// Message for people.
	Message string `json:"message"`
}

// ReadyAt is done when an object is Ready and its external resource has the given size.
func ReadyAt(size int) func(Event) bool {
	return func(e Event) bool {
		for _, c := range e.Object.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				return e.Object.Status.AtProvider.Size == size
			}
		}
		return false
	}
}

// Deleted is done when an object is deleted.
func Deleted(e Event) bool { return e.Type == "DELETED" }

// A Tracker reads a watch and passes its events to the current work.
type Tracker struct {
	mu      sync.Mutex
	work    *Work
	version string
}

// Version is the resource version to resume the watch from. It is empty, which lists all objects, at first and after an error, since
// the API server may no longer have the version.
func (t *Tracker) Version() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.version
}

// NewTracker returns a tracker that expects nothing yet.
func NewTracker() *Tracker { return &Tracker{} }

// Follow reads watch events until the stream ends, and returns why it did.
func (t *Tracker) Follow(stream io.Reader) error {
	decoder := json.NewDecoder(stream)
	for {
		var e Event
		if err := decoder.Decode(&e); err != nil {
			return fmt.Errorf("reading watch: %w", err)
		}
		work := t.note(e)
		if e.Type == "ERROR" {
			return fmt.Errorf("watch ended: %s", e.Object.Message)
		}
		if work != nil {
			work.see(e, time.Now())
		}
	}
}

func (t *Tracker) note(e Event) *Work {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.version = e.Object.Metadata.ResourceVersion
	return t.work
}

// Expect begins a new piece of work: n objects that are to be done.
func (t *Tracker) Expect(n int, done func(Event) bool) *Work {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work = &Work{n: n, done: done, all: make(chan struct{}), begun: map[string]time.Time{}, last: map[string]Event{}}
	return t.work
}

// Work is n objects that are to be done.
type Work struct {
	n    int
	done func(Event) bool
	all  chan struct{} // closed when all are done

	mu    sync.Mutex
	begun map[string]time.Time // objects begun and not done
	last  map[string]Event     // the last that was seen of them
	took  []time.Duration
	end   time.Time // when the last one was done
}

// Begin notes that the request for an object is about to be sent.
func (w *Work) Begin(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun[name] = time.Now()
}

func (w *Work) see(e Event, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := e.Object.Metadata.Name
	begun, ok := w.begun[name]
	if !ok {
		return
	}
	if !w.done(e) {
		w.last[name] = e
		return
	}
	delete(w.begun, name)
	delete(w.last, name)
	w.took, w.end = append(w.took, now.Sub(begun)), now
	if len(w.took) == w.n {
		close(w.all)
	}
}

// Done is how many objects are done.
func (w *Work) Done() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.took)
}

// Wait returns how long each object took, and when the last one was done. If ctx ends before, the error describes what is missing.
func (w *Work) Wait(ctx context.Context) (took []time.Duration, end time.Time, err error) {
	select {
	case <-w.all:
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.took, w.end, nil
	case <-ctx.Done():
		return nil, time.Time{}, fmt.Errorf("%s: %w", w.Missing(), context.Cause(ctx))
	}
}

// shown is how many objects an error names.
const shown = 3

// Missing describes how many objects are done, and the last state of some that are not.
func (w *Work) Missing() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for name := range w.begun {
		names = append(names, name)
	}
	sort.Strings(names)
	text := fmt.Sprintf("%d of %d objects are done", len(w.took), w.n)
	for _, name := range names[:min(len(names), shown)] {
		text += fmt.Sprintf("; %s is not: %s", name, describe(w.last[name]))
	}
	return text
}

func describe(e Event) string {
	if e.Type == "" {
		return "nothing seen of it since"
	}
	if len(e.Object.Status.Conditions) == 0 {
		return "it has no conditions"
	}
	var words []string
	for _, c := range e.Object.Status.Conditions {
		word := fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			word += " (" + c.Message + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}
