// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Environment is what services need of the cloud. Services without servers need the Store only.
type Environment struct {
	Store         *store.Store  // holds the records
	Folder        string        // holds one folder per server, of all services. It exists and is free of symbolic links.
	Account       host.Account  // owns the data of new servers
	RetryInterval time.Duration // the longest pause between attempts
	Log           *slog.Logger  // receives the events of servers
	Kept          func() bool   // whether servers are to outlive Run; nil: no
}

// Servers describes the servers of a service.
type Servers[Spec any] struct {
	Prefix    string                        // Prefix and the id are the name of the folder of a server
	Ports     host.PortRange                // the port range of the service
	Folder    host.Folder                   // has the programs of the servers. The service sets path and owner.
	Software  host.Software                 // has the program of the servers
	Version   refusal.Version               // has the rules for requests of a version
	NewDriver func(Site[Spec]) Driver[Spec] // returns the Driver of a server
}

// checkVersion refuses a version that is not available. No version is valid, also for resources that are records only.
func (s *Servers[Spec]) checkVersion(ctx context.Context, version string) error {
	if version == "" {
		return nil
	}
	programs, err := s.Software.Find(ctx)
	if err != nil {
		return err
	}
	return s.Version.Validate(version, programs)
}

// A Site is what a Driver needs of its service.
type Site[Spec any] struct {
	*host.Folder
	// Update changes the record of the server and returns the result. The error is store.ErrNotFound when there is none.
	Update func(change func(*Record[Spec])) (Record[Spec], error)
	// Installed returns the programs that are installed.
	Installed func(context.Context) ([]host.Program, error)
	Log       *slog.Logger // receives the events of the server
}

// A Driver runs the server of one record. Its methods are called one at a time, but for Backup and Opens.
type Driver[Spec any] interface {
	// Find returns the server that an earlier cloud started. The error is host.ErrEnded if none runs.
	Find(ctx context.Context, r Record[Spec]) (*host.Server, error)
	// Fits reports whether the server can continue to run, or must be restarted to match the record.
	Fits(s *host.Server, r Record[Spec]) bool
	// Prepare returns the function that starts one of the programs. The current server, if any, is stopped in between.
	Prepare(ctx context.Context, r Record[Spec], installed []host.Program) (start func(port int) (*host.Server, error), err error)
	// AwaitReady waits until clients can use the server. It is called every few seconds and is cheap while they can. The error is a
	// host.Fault if the server answers that they cannot.
	AwaitReady(ctx context.Context, s *host.Server, r Record[Spec]) error
	// Settle applies the rest of the record to a server that is ready.
	Settle(ctx context.Context, s *host.Server, r Record[Spec]) (Seen, error)
	// Opens reports whether the running server accepts a password. The error is about other failures and contains no password.
	Opens(ctx context.Context, r Record[Spec], password string) (bool, error)
	// Backup copies the data of the running server into an empty folder of its account. The copy may become the data of a server.
	Backup(ctx context.Context, r Record[Spec], target string) error
}

// Seen is the observed state of a server that accepts connections.
type Seen struct {
	Version string // the version of the programs
	Port    int    // the port of the server
}

// fleet holds the records of a service and manages their servers, if any.
type fleet[Spec any] struct {
	Environment
	Records  store.Table[Record[Spec]]          // the records of the service
	servers  *Servers[Spec]                     // nil if resources are records only
	replays  store.Table[replay]                // by idempotency key
	free     func(folder string) (int64, error) // bytes on the disk of a folder
	choosing sync.Mutex                         // held while a port is chosen, so that no two servers get the same

	mu      sync.Mutex
	workers map[int]*worker[Spec] // by id
	life    context.Context       // nil until Run starts and after it began to stop
	running sync.WaitGroup
}

// anyID is the id of edit for a record of any id.
const anyID = 0

func (f *fleet[Spec]) get(project, name string) (r Record[Spec], err error) {
	err = f.Store.Read(func(tx *store.Tx) error {
		r, err = f.Records.Get(tx, project, name)
		return err
	})
	return r, err
}

func (f *fleet[Spec]) all() (records []Record[Spec], err error) {
	err = f.Store.Read(func(tx *store.Tx) error {
		records, err = f.Records.All(tx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading records: %w", err)
	}
	return records, nil
}

// edit lets change edit a record and returns the result. If change returns an error, nothing is written.
func (f *fleet[Spec]) edit(project, name string, id int, change func(*Record[Spec]) error) (r Record[Spec], err error) {
	err = f.Store.Write(func(tx *store.Tx) error {
		if r, err = f.Records.Get(tx, project, name); err != nil {
			return err
		}
		if id != anyID && r.ID != id {
			return store.ErrNotFound
		}
		if err := change(&r); err != nil {
			return err
		}
		return f.put(tx, r)
	})
	return r, err
}

// EditAll lets change edit every record of all projects. change reports whether it did; if it edits none, nothing is written.
func (f *fleet[Spec]) EditAll(change func(*Record[Spec]) bool) error {
	err := f.Store.Write(func(tx *store.Tx) error {
		records, err := f.Records.All(tx)
		edited := false
		for _, r := range records {
			if change(&r) {
				edited, err = true, errors.Join(err, f.put(tx, r))
			}
		}
		if err == nil && !edited {
			return errUnchanged
		}
		return err
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

func (f *fleet[Spec]) put(tx *store.Tx, r Record[Spec]) error {
	return f.Records.Put(tx, r.Project, r.Name, r)
}

func (f *fleet[Spec]) remove(tx *store.Tx, r Record[Spec]) error {
	return errors.Join(f.replays.Delete(tx, r.Project, r.IdempotencyKey), f.Records.Delete(tx, r.Project, r.Name))
}

// Recover corrects the records before the API shows them, and removes the folders of this service that have no record.
func (f *fleet[Spec]) Recover(ctx context.Context) error {
	records, err := f.all()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, r := range records {
		known[f.folderName(r.ID)] = true
		if err := errors.Join(f.correct(ctx, r), removeCopies(filepath.Join(f.Folder, f.folderName(r.ID)))); err != nil {
			return fmt.Errorf("recovering instance %q: %w", r.Name, err)
		}
	}
	folders, err := os.ReadDir(f.Folder)
	if err != nil {
		return fmt.Errorf("listing instance folders: %w", err)
	}
	for _, folder := range folders {
		if !strings.HasPrefix(folder.Name(), f.servers.Prefix) || known[folder.Name()] {
			continue
		}
		f.Log.Info("removing leftover folder", "folder", folder.Name())
		if err := f.folder(folder.Name()).Remove(ctx); err != nil {
			return fmt.Errorf("removing leftover folder %s: %w", folder.Name(), err)
		}
	}
	return nil
}

// correct changes the status of an instance that is ONLINE while its server is down or does not answer.
func (f *fleet[Spec]) correct(ctx context.Context, r Record[Spec]) error {
	if r.Status != sdk.StatusOnline {
		return nil
	}
	w := newWorker(f, r, ctx)
	defer w.interrupt()
	defer w.forget()
	running, err := w.find(ctx, r)
	if running || ctx.Err() != nil {
		return ctx.Err()
	}
	message := "the cloud was restarted; restarting the server"
	if err != nil { // one server that does not answer must not keep the cloud from its start
		message = err.Error()
	}
	_, err = w.update(func(r *Record[Spec]) { r.Status, r.Message = sdk.StatusFailed, message })
	return err
}

// Run manages all servers until ctx ends, then stops them, unless they are kept, and returns.
func (f *fleet[Spec]) Run(ctx context.Context) error {
	records, err := f.all()
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.life = ctx
	f.mu.Unlock()
	for _, r := range records {
		f.enqueue(r)
	}
	<-ctx.Done()
	f.mu.Lock()
	f.life = nil
	f.mu.Unlock()
	f.running.Wait()
	return nil
}

// enqueue requests a pass of the record's worker, which it starts. It does nothing before Run, which enqueues every record.
func (f *fleet[Spec]) enqueue(r Record[Spec]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.life == nil {
		return
	}
	w, ok := f.workers[r.ID]
	if !ok {
		w = newWorker(f, r, f.life)
		f.workers[r.ID] = w
		life := f.life
		f.running.Go(func() {
			w.run(life)
			f.mu.Lock()
			delete(f.workers, r.ID)
			f.mu.Unlock()
		})
	}
	w.notify()
}

// interrupt ends the current pass of the record's worker, so that it can begin the deletion.
func (f *fleet[Spec]) interrupt(id int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w, ok := f.workers[id]; ok {
		w.interrupt()
	}
}

// checkInterval returns the average pause between the checks of a server. Each starts a process of PostgreSQL and uses four
// milliseconds of a processor: all servers together get ten a second.
func (f *fleet[Spec]) checkInterval() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(5*time.Second, time.Duration(len(f.workers))*100*time.Millisecond)
}

func (f *fleet[Spec]) folderName(id int) string { return f.servers.Prefix + strconv.Itoa(id) }

func (f *fleet[Spec]) folder(name string) *host.Folder {
	folder := f.servers.Folder
	folder.Path, folder.Owner = filepath.Join(f.Folder, name), f.Account
	return &folder
}

// choosePort assigns the server of a worker a port that is free and that no other server has.
func (f *fleet[Spec]) choosePort(w *worker[Spec]) (int, error) {
	f.choosing.Lock()
	defer f.choosing.Unlock()
	records, err := f.all()
	if err != nil {
		return 0, err
	}
	taken := map[int]bool{}
	for _, r := range records {
		taken[r.Port] = true
	}
	port, err := f.servers.Ports.Free(func(port int) bool { return taken[port] })
	if err != nil {
		return 0, err
	}
	if _, err := w.update(func(r *Record[Spec]) { r.Port = port }); err != nil {
		return 0, fmt.Errorf("recording port: %w", err)
	}
	return port, nil
}
