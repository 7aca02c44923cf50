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

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// Environment is what a service needs of the cloud. All fields are required.
type Environment struct {
	// Store holds the records.
	Store *store.Store
	// Folder holds one folder per instance, of all services. It exists and is free of symbolic links.
	Folder string
	// Account owns the data of new instances.
	Account host.Account
	// SearchPath is searched for the programs of the service.
	SearchPath []string
	// RetryInterval is the longest pause between attempts.
	RetryInterval time.Duration
	// Log receives the events of instances.
	Log *slog.Logger
}

// Config configures a Fleet. All fields are required.
type Config[R any] struct {
	Environment
	// Service is the prefix of the tables of records and of the folders of instances.
	Service string
	// Noun names an instance in messages.
	Noun string
	// Ports is the port range of the service.
	Ports host.PortRange
	// NewServer returns the Server of an instance.
	NewServer func(Site[R]) Server[R]
}

// A Fleet manages the instances of one service. Call Recover, then Run, and the other methods while Run runs.
type Fleet[R any, P store.Record[R]] struct {
	Config[R]
	records  *store.Instances[R, P]
	choosing sync.Mutex // held while a port is chosen, so that no two instances get the same

	mu      sync.Mutex
	workers map[int]*worker[R, P]
	life    context.Context // nil until Run starts and after it began to stop
	running sync.WaitGroup
}

// New returns a fleet that is not running yet.
func New[R any, P store.Record[R]](c Config[R]) *Fleet[R, P] {
	return &Fleet[R, P]{Config: c, records: store.NewInstances[R, P](c.Store, c.Service), workers: map[int]*worker[R, P]{}}
}

// Run manages all instances until ctx ends, then stops their servers and returns.
func (f *Fleet[R, P]) Run(ctx context.Context) error {
	records, err := f.records.All()
	if err != nil {
		return fmt.Errorf("reading instances: %w", err)
	}
	f.mu.Lock()
	f.life = ctx
	f.mu.Unlock()
	for _, r := range records {
		f.enqueue(P(&r).Common().ID)
	}
	<-ctx.Done()
	f.mu.Lock()
	f.life = nil
	f.mu.Unlock()
	f.running.Wait()
	return nil
}

// enqueue requests a pass of the instance's worker, which it starts if there is none. While Run does not run, it does nothing: the
// next Run enqueues every instance.
func (f *Fleet[R, P]) enqueue(id int) {
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

// interrupt ends the current pass of the instance's worker, so that it can begin the deletion.
func (f *Fleet[R, P]) interrupt(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w, ok := f.workers[id]; ok {
		w.interrupt()
	}
}

// server returns the Server of an instance.
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

func (f *Fleet[R, P]) folderName(id int) string { return f.Service + "-" + strconv.Itoa(id) }

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

// Hostname returns the host name of a server, empty until it has a port.
func Hostname(port int) string {
	if port == 0 {
		return ""
	}
	return host.Loopback
}
