// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"time"
)

// ShortenSaving has Save try as often as otherwise, within half a second.
func ShortenSaving() { saving.Duration = time.Millisecond }

// SweepOnce deletes the states of objects that are gone, once.
func (s *Store) SweepOnce(ctx context.Context) error {
	return s.sweep(ctx, func(string) (bool, error) { return true, nil })
}
