// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/catalog"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Create records a new instance and starts its creation. It returns the result of answer, or that of an earlier request with the
// same idempotency key in the same project; then replayed is true. A replay ignores the record and the problem, which is the
// error of an invalid request: a client that retries after a crash may send an edited request and still needs the password.
func (f *Fleet[R, P]) Create(record R, problem error, answer func(R) ([]byte, error)) (body []byte, replayed bool, err error) {
	i := P(&record).Common()
	i.Status, i.CreatedAt = sdk.StatusCreating, time.Now()
	guarded := func(r R) ([]byte, error) { // Not called for a replay.
		if problem != nil {
			return nil, problem
		}
		return answer(r)
	}
	body, replayed, err = f.records.Create(&record, guarded)
	if errors.Is(err, store.ErrNameTaken) {
		return nil, false, refusal.Exists("%s %q exists in project %q", f.Noun, i.Name, i.Project)
	}
	if err != nil {
		return nil, false, fmt.Errorf("recording instance: %w", err)
	}
	if !replayed {
		f.Log.Info("instance requested", "project", i.Project, "instance", i.Name, "id", i.ID)
		f.enqueue(i.ID)
	}
	return body, replayed, nil
}

// Replay returns the answer to the request that created an instance with this idempotency key, if the project has such an
// instance.
func (f *Fleet[R, P]) Replay(project, idempotencyKey string) (body []byte, found bool, err error) {
	body, err = f.records.Replay(project, idempotencyKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	return body, err == nil, err
}

// Get returns an instance. If asOf is not zero, instances that were created later are not found.
func (f *Fleet[R, P]) Get(project, name string, asOf time.Time) (R, error) {
	record, err := f.records.ByName(project, name)
	if errors.Is(err, store.ErrNotFound) || err == nil && !catalog.IsVisible(P(&record).Common().CreatedAt, asOf) {
		var none R
		return none, f.notFound(project, name)
	}
	return record, err
}

// List returns the instances of a project that have all of the labels, ordered by name. If asOf is not zero, instances that were
// created later are not found.
func (f *Fleet[R, P]) List(project string, labels map[string]string, asOf time.Time) ([]R, error) {
	records, err := f.records.OfProject(project)
	return slices.DeleteFunc(records, func(r R) bool {
		i := P(&r).Common()
		return !catalog.IsVisible(i.CreatedAt, asOf) || !rules.Matches(i.Labels, labels)
	}), err
}

// Change changes the desired state of an instance and starts to apply it. change reports whether it changed the record. Labels
// that are not nil replace all current ones. An instance that is being deleted is refused.
func (f *Fleet[R, P]) Change(project, name string, labels map[string]string, change func(*R) (changed bool)) (R, error) {
	return f.edit(project, name, func(r *R) error {
		i := P(r).Common()
		if i.Status == sdk.StatusDeleting {
			return refusal.Conflict("%s %q is being deleted", f.Noun, name)
		}
		if change(r) {
			i.Generation++
			if i.Status == sdk.StatusOnline { // In this write, so that no reader sees the new state as ONLINE.
				i.Status = sdk.StatusUpdating
			}
		}
		if labels != nil {
			i.Labels = maps.Clone(labels)
		}
		return nil
	}, func(int) {})
}

// Delete starts the deletion of an instance and its data. It can be repeated.
func (f *Fleet[R, P]) Delete(project, name string) (R, error) {
	return f.edit(project, name, func(r *R) error {
		if i := P(r).Common(); i.Status != sdk.StatusDeleting {
			i.Status, i.Message = sdk.StatusDeleting, ""
		}
		return nil
	}, f.interrupt)
}

// edit writes a change, calls before, and enqueues the instance.
func (f *Fleet[R, P]) edit(project, name string, change func(*R) error, before func(id int)) (R, error) {
	record, err := f.Get(project, name, time.Time{})
	if err != nil {
		return record, err
	}
	id := P(&record).Common().ID
	record, err = f.records.Update(id, change)
	if errors.Is(err, store.ErrNotFound) {
		err = f.notFound(project, name)
	}
	if err != nil {
		var none R
		return none, err
	}
	before(id)
	f.enqueue(id)
	return record, nil
}

func (f *Fleet[R, P]) notFound(project, name string) error {
	return refusal.NotFound("%s %q does not exist in project %q", f.Noun, name, project)
}
