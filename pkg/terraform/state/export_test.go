// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"time"

	"github.com/go-logr/logr"
)

// ShortenSaving has Save try as often as otherwise, within half a second.
func ShortenSaving() { saving.Duration = time.Millisecond }

// SweepOnce does what Sweep does, once.
func (s *Store) SweepOnce(ctx context.Context) error {
	return s.sweep(ctx, logr.Discard(), func(string) (bool, error) { return true, nil })
}
