// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"

	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

// An altering connecter makes clients whose calls a test has the last word on. Functions that are nil change nothing.
type altering struct {
	*thing.System
	observed func(*thing.Thing, *managed.ExternalObservation)
	created  func(*thing.Thing, *managed.ExternalCreation)
	failing  error // that Create ends with, whatever it did
	updated  func(*thing.Thing, *managed.ExternalUpdate)
	deleted  func(*thing.Thing)
}

// through replaces the reconciler by one whose clients are the given connecter's.
func (s *stage) through(a altering) {
	s.t.Helper()
	a.System = s.system
	s.options = append(s.options, managed.WithTypedExternalConnecter[*thing.Thing](a))
	s.restart(s.env.Config)
}

// alter replaces the reconciler by one whose clients report what change makes of what they found.
func (s *stage) alter(change func(*thing.Thing, *managed.ExternalObservation)) {
	s.t.Helper()
	s.through(altering{observed: change})
}

func (a altering) Connect(ctx context.Context, mg *thing.Thing) (managed.TypedExternalClient[*thing.Thing], error) {
	external, err := a.System.Connect(ctx, mg)
	return altered{external, a}, err
}

type altered struct {
	managed.TypedExternalClient[*thing.Thing]
	by altering
}

// Unwrap gives access to the optional interfaces of the system's client.
func (a altered) Unwrap() any { return a.TypedExternalClient }

func (a altered) Observe(ctx context.Context, mg *thing.Thing) (managed.ExternalObservation, error) {
	o, err := a.TypedExternalClient.Observe(ctx, mg)
	if a.by.observed != nil {
		a.by.observed(mg, &o)
	}
	return o, err
}

func (a altered) Create(ctx context.Context, mg *thing.Thing) (managed.ExternalCreation, error) {
	c, err := a.TypedExternalClient.Create(ctx, mg)
	if a.by.created != nil {
		a.by.created(mg, &c)
	}
	return c, errors.Join(err, a.by.failing)
}

func (a altered) Update(ctx context.Context, mg *thing.Thing) (managed.ExternalUpdate, error) {
	u, err := a.TypedExternalClient.Update(ctx, mg)
	if a.by.updated != nil {
		a.by.updated(mg, &u)
	}
	return u, err
}

func (a altered) Delete(ctx context.Context, mg *thing.Thing) error {
	err := a.TypedExternalClient.Delete(ctx, mg)
	if a.by.deleted != nil {
		a.by.deleted(mg)
	}
	return err
}
