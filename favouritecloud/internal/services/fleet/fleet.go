// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/ports"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// Config is what a Fleet needs. All fields are required.
type Config[R any] struct {
	// Store holds the records.
	Store *store.Store
	// Service names the tables of the records and the folders of the instances.
	Service string
	// Noun says to people what an instance is.
	Noun string
	// Folder holds one folder per instance, beside those of other services. It exists and is free of symbolic links.
	Folder string
	// Ports is the service's range.
	Ports ports.Range
	// NewServer returns what looks after an instance's server.
	NewServer func(Site[R]) Server[R]
	// RetryInterval is the longest pause before another attempt.
	RetryInterval time.Duration
	// Log hears of what happens to instances.
	Log *slog.Logger
}

// A Fleet is the instances of one service. Call Recover, then Run, and the other methods while Run runs.
type Fleet[R any, P store.Record[R]] struct {
	Config[R]
	records  *store.Instances[R, P]
	choosing sync.Mutex // of ports, so that no two instances choose the same

	mu      sync.Mutex
	workers map[int]*worker[R, P]
	life    context.Context // nil until Run starts and after it began to stop
	running sync.WaitGroup
}

// New returns a fleet that does nothing yet.
func New[R any, P store.Record[R]](c Config[R]) *Fleet[R, P] {
	return &Fleet[R, P]{Config: c, records: store.NewInstances[R, P](c.Store, c.Service), workers: map[int]*worker[R, P]{}}
}

// Run looks after all instances until ctx ends, then stops their servers and returns.
func (f *Fleet[R, P]) Run(ctx context.Context) error {
	records, err := f.records.All()
	if err != nil {
		return fmt.Errorf("reading instances: %w", err)
	}
	f.mu.Lock()
	f.life = ctx
	f.mu.Unlock()
	for _, r := range records {
		f.attend(P(&r).Common().ID)
	}
	<-ctx.Done()
	f.mu.Lock()
	f.life = nil
	f.mu.Unlock()
	f.running.Wait()
	return nil
}

// attend makes the instance's worker look again, and starts it if there is none. Without Run the next one will.
func (f *Fleet[R, P]) attend(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.life == nil {
		return
	}
	w, ok := f.workers[id]
	if !ok {
		w = newWorker(f, id, f.life)
		f.workers[id] = w
		life := f.life
		f.running.Go(func() {
			w.run(life)
			f.mu.Lock()
			delete(f.workers, id)
			f.mu.Unlock()
		})
	}
	w.notify()
}

// interrupt ends what the instance's worker does for a living instance, so that it can turn to the deletion.
func (f *Fleet[R, P]) interrupt(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w, ok := f.workers[id]; ok {
		w.interrupt()
	}
}

// server returns what looks after the server of an instance.
func (f *Fleet[R, P]) server(id int) Server[R] {
	return f.NewServer(Site[R]{
		Folder: filepath.Join(f.Folder, f.folderName(id)),
		Update: func(change func(*R)) (R, error) {
			return f.records.Update(id, func(r *R) error {
				change(r)
				return nil
			})
		},
		ChoosePort: func() (int, error) { return f.choosePort(id) },
		Log:        f.Log.With("id", id),
	})
}

// folderPrefix marks the folders that are ours to remove.
func (f *Fleet[R, P]) folderPrefix() string { return f.Service + "-" }

func (f *Fleet[R, P]) folderName(id int) string { return f.folderPrefix() + strconv.Itoa(id) }

func (f *Fleet[R, P]) choosePort(id int) (int, error) {
	f.choosing.Lock()
	defer f.choosing.Unlock()
	records, err := f.records.All()
	if err != nil {
		return 0, fmt.Errorf("choosing port: %w", err)
	}
	taken := map[int]bool{}
	for _, r := range records {
		taken[P(&r).Common().Port] = true
	}
	port, err := f.Ports.Free(func(port int) bool { return taken[port] })
	if err != nil {
		return 0, err
	}
	_, err = f.records.Update(id, func(r *R) error {
		P(r).Common().Port = port
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("recording port: %w", err)
	}
	return port, nil
}
