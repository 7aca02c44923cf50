// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package program

import (
	"io"
	"log/slog"

	"github.com/go-logr/logr"
)

// Loggers returns the logger of our controllers, at level info, and that of libraries, at level warning unless -v is set.
func (s Settings) Loggers(w io.Writer) (ours, libraries logr.Logger) {
	handler := func(level slog.Level) logr.Logger {
		o := &slog.HandlerOptions{Level: level}
		if s.LogFormat == "json" {
			return logr.FromSlogHandler(slog.NewJSONHandler(w, o))
		}
		return logr.FromSlogHandler(slog.NewTextHandler(w, o))
	}
	more := slog.LevelInfo - slog.Level(s.Verbosity)
	if s.Verbosity <= 0 {
		return handler(more), handler(slog.LevelWarn)
	}
	return handler(more), handler(more)
}
