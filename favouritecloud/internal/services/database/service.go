// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/postgres"
	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/catalog"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	api "github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
)

// Config is what a Service needs. All fields are required.
type Config struct {
	// Store holds the records.
	Store *store.Store
	// Folder holds one folder per instance and nothing else. It exists and is free of symbolic links.
	Folder string
	// Account owns the data of new instances.
	Account postgres.Account
	// SearchPath is where PostgreSQL is looked for: see postgres.FindInstallations.
	SearchPath []string
	// RetryInterval is the longest pause before another attempt.
	RetryInterval time.Duration
	// Parallel is how many data folders are made at the same time.
	Parallel int
	// Log hears of what happens to instances.
	Log *slog.Logger
}

// Service is the database service. Call Recover, then Run, and the other methods while Run runs.
type Service struct {
	Config
	slots chan struct{} // one token per data folder being made
	ports portBook

	mu      sync.Mutex
	workers map[int]*worker
	life    context.Context // nil until Run starts and after it began to stop
	running sync.WaitGroup
}

// New returns a service that does nothing yet.
func New(c Config) *Service {
	return &Service{Config: c, slots: make(chan struct{}, c.Parallel), workers: map[int]*worker{}}
}

// Run looks after all instances until ctx ends, then stops their servers and returns.
func (s *Service) Run(ctx context.Context) error {
	records, err := s.Store.Instances()
	if err != nil {
		return fmt.Errorf("reading instances: %w", err)
	}
	s.mu.Lock()
	s.life = ctx
	s.mu.Unlock()
	for _, r := range records {
		s.attend(r.ID)
	}
	<-ctx.Done()
	s.mu.Lock()
	s.life = nil
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// attend makes the instance's worker look again, and starts it if there is none. Without Run the next one will.
func (s *Service) attend(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life == nil {
		return
	}
	w, ok := s.workers[id]
	if !ok {
		w = newWorker(s, id, s.life)
		s.workers[id] = w
		life := s.life
		s.running.Go(func() {
			w.run(life)
			s.mu.Lock()
			delete(s.workers, id)
			s.mu.Unlock()
		})
	}
	w.notify()
}

// interrupt ends what the instance's worker does for a living instance, so that it can turn to the deletion.
func (s *Service) interrupt(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w, ok := s.workers[id]; ok {
		w.interrupt()
	}
}

// Create records a new instance and has it made. The body is what answer made of the record, or made of an earlier one
// with the same idempotency key in the same project; then replayed is true and in is not looked at, since whoever
// retries after a crash may hold an edited request and must learn the password all the same.
func (s *Service) Create(ctx context.Context, project, idempotencyKey string, in api.CreateInstanceInput,
	answer func(store.Instance) ([]byte, error)) (body []byte, replayed bool, err error) {
	record := store.Instance{
		Project: project, Name: in.Name, FancinessLevel: in.FancinessLevel, Status: api.StatusCreating,
		Labels: maps.Clone(in.Labels), CreatedAt: time.Now(), Password: newPassword(), IdempotencyKey: idempotencyKey,
	}
	if in.Password != nil {
		record.Password = *in.Password
	}
	if in.Version != nil {
		record.Version = *in.Version
	}
	problem := s.validateCreate(ctx, in)
	guarded := func(i store.Instance) ([]byte, error) { // Called only when there is nothing to replay.
		if problem != nil {
			return nil, problem
		}
		return answer(i)
	}
	body, replayed, err = s.Store.CreateInstance(&record, guarded)
	if errors.Is(err, store.ErrNameTaken) {
		return nil, false, refusal.Exists("database instance %q exists in project %q", in.Name, project)
	}
	if err != nil {
		return nil, false, fmt.Errorf("recording instance: %w", err)
	}
	if !replayed {
		s.Log.Info("instance asked for", "project", project, "instance", in.Name, "id", record.ID)
		s.attend(record.ID)
	}
	return body, replayed, nil
}

// Replay returns the answer to the request that made an instance with this idempotency key, if there is such an
// instance in the project.
func (s *Service) Replay(project, idempotencyKey string) (body []byte, found bool, err error) {
	body, err = s.Store.Replay(project, idempotencyKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	return body, err == nil, err
}

// Get returns an instance. Instances made after asOf are not seen, unless that is zero.
func (s *Service) Get(project, name string, asOf time.Time) (store.Instance, error) {
	record, err := s.Store.InstanceByName(project, name)
	if errors.Is(err, store.ErrNotFound) || err == nil && !catalog.Seen(record.CreatedAt, asOf) {
		return store.Instance{}, notFound(project, name)
	}
	return record, err
}

// List returns the instances of a project that carry all of the labels, ordered by name. Instances made after
// asOf are not seen, unless that is zero.
func (s *Service) List(project string, labels map[string]string, asOf time.Time) ([]store.Instance, error) {
	records, err := s.Store.ProjectInstances(project)
	if err != nil {
		return nil, err
	}
	var matching []store.Instance
	for _, r := range records {
		if catalog.Seen(r.CreatedAt, asOf) && rules.Matches(r.Labels, labels) {
			matching = append(matching, r)
		}
	}
	return matching, nil
}

// Update changes an instance and has the change applied.
func (s *Service) Update(project, name string, in api.UpdateInstanceInput) (store.Instance, error) {
	if err := validateUpdate(in); err != nil {
		return store.Instance{}, err
	}
	record, err := s.Get(project, name, time.Time{})
	if err != nil {
		return store.Instance{}, err
	}
	record, err = s.Store.UpdateInstance(record.ID, func(i *store.Instance) error {
		if i.Status == api.StatusDeleting {
			return refusal.Conflict("database instance %q is being deleted", name)
		}
		if in.FancinessLevel != nil && *in.FancinessLevel != i.FancinessLevel {
			i.FancinessLevel = *in.FancinessLevel
			setUpdating(i)
		}
		if in.Password != nil && *in.Password != i.Password {
			changePassword(i, *in.Password)
			setUpdating(i)
		}
		if in.Labels != nil {
			i.Labels = maps.Clone(in.Labels)
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return store.Instance{}, notFound(project, name)
	}
	if err != nil {
		return store.Instance{}, err
	}
	s.attend(record.ID)
	return record, nil
}

// setUpdating is part of the write that asks for a change: nobody sees what is wanted as online too early.
func setUpdating(i *store.Instance) {
	if i.Status == api.StatusOnline {
		i.Status = api.StatusUpdating
	}
}

// Delete has an instance removed, with its data. Repeating it is harmless.
func (s *Service) Delete(project, name string) (store.Instance, error) {
	record, err := s.Get(project, name, time.Time{})
	if err != nil {
		return store.Instance{}, err
	}
	record, err = s.Store.UpdateInstance(record.ID, func(i *store.Instance) error {
		if i.Status != api.StatusDeleting {
			i.Status, i.Message = api.StatusDeleting, ""
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return store.Instance{}, notFound(project, name)
	}
	if err != nil {
		return store.Instance{}, err
	}
	s.interrupt(record.ID)
	s.attend(record.ID)
	return record, nil
}

func notFound(project, name string) error {
	return refusal.NotFound("database instance %q does not exist in project %q", name, project)
}
