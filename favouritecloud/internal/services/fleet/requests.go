// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
	"github.com/bowline-dev/bowline/favouritecloud/internal/rules"
	"github.com/bowline-dev/bowline/favouritecloud/internal/services/catalog"
	"github.com/bowline-dev/bowline/favouritecloud/internal/store"
)

// Create records a new instance and has it made. The body is what answer made of the record, or made of an earlier one
// with the same idempotency key in the same project; then replayed is true and neither the record nor the problem, which
// is what the request did wrong, is looked at, since whoever retries after a crash may hold an edited request and must
// learn the password all the same.
func (f *Fleet[R, P]) Create(record R, problem error, answer func(R) ([]byte, error)) (body []byte, replayed bool, err error) {
	i := P(&record).Common()
	i.Status, i.CreatedAt = StatusCreating, time.Now()
	guarded := func(r R) ([]byte, error) { // Called only when there is nothing to replay.
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
		f.Log.Info("instance asked for", "project", i.Project, "instance", i.Name, "id", i.ID)
		f.attend(i.ID)
	}
	return body, replayed, nil
}

// Replay returns the answer to the request that made an instance with this idempotency key, if there is such an
// instance in the project.
func (f *Fleet[R, P]) Replay(project, idempotencyKey string) (body []byte, found bool, err error) {
	body, err = f.records.Replay(project, idempotencyKey)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	return body, err == nil, err
}

// Get returns an instance. Instances made after asOf are not seen, unless that is zero.
func (f *Fleet[R, P]) Get(project, name string, asOf time.Time) (R, error) {
	record, err := f.records.ByName(project, name)
	if errors.Is(err, store.ErrNotFound) || err == nil && !catalog.Seen(P(&record).Common().CreatedAt, asOf) {
		var none R
		return none, f.notFound(project, name)
	}
	return record, err
}

// List returns the instances of a project that carry all of the labels, ordered by name. Instances made after
// asOf are not seen, unless that is zero.
func (f *Fleet[R, P]) List(project string, labels map[string]string, asOf time.Time) ([]R, error) {
	records, err := f.records.OfProject(project)
	if err != nil {
		return nil, err
	}
	var matching []R
	for _, r := range records {
		if i := P(&r).Common(); catalog.Seen(i.CreatedAt, asOf) && rules.Matches(i.Labels, labels) {
			matching = append(matching, r)
		}
	}
	return matching, nil
}

// Change changes what is wanted of an instance, with change, which says whether it changed anything, and has that applied.
// Labels that are not nil replace all present ones. What is being deleted is refused.
func (f *Fleet[R, P]) Change(project, name string, labels map[string]string, change func(*R) (changed bool)) (R, error) {
	return f.edit(project, name, func(r *R) error {
		i := P(r).Common()
		if i.Status == StatusDeleting {
			return refusal.Conflict("%s %q is being deleted", f.Noun, name)
		}
		if change(r) {
			i.Generation++
			if i.Status == StatusOnline { // In this write: nobody sees what is wanted as online too early.
				i.Status = StatusUpdating
			}
		}
		if labels != nil {
			i.Labels = maps.Clone(labels)
		}
		return nil
	}, func(int) {})
}

// Delete has an instance removed, with its data. Repeating it is harmless.
func (f *Fleet[R, P]) Delete(project, name string) (R, error) {
	return f.edit(project, name, func(r *R) error {
		if i := P(r).Common(); i.Status != StatusDeleting {
			i.Status, i.Message = StatusDeleting, ""
		}
		return nil
	}, f.interrupt)
}

// edit writes a change, then makes the instance's worker look at it.
func (f *Fleet[R, P]) edit(project, name string, change func(*R) error, before func(id int)) (R, error) {
	record, err := f.Get(project, name, time.Time{})
	if err != nil {
		return record, err
	}
	id := P(&record).Common().ID
	record, err = f.records.Update(id, change)
	if err != nil {
		var none R
		if errors.Is(err, store.ErrNotFound) {
			err = f.notFound(project, name)
		}
		return none, err
	}
	before(id)
	f.attend(id)
	return record, nil
}

func (f *Fleet[R, P]) notFound(project, name string) error {
	return refusal.NotFound("%s %q does not exist in project %q", f.Noun, name, project)
}
