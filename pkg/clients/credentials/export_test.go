// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package credentials

import "time"

// WithClock sets the time by which Secrets are unused.
func WithClock(now func() time.Time) Option { return func(s *Secrets) { s.now = now } }

// WithFileInterval sets how often files are read.
func WithFileInterval(d time.Duration) Option { return func(s *Secrets) { s.interval = d } }
