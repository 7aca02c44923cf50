// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
)

// verbosity is how much the log says: 0 is our own messages and others' warnings, each step more is one level of logr and
// klog.
type verbosity int

func (v *verbosity) register(flags *pflag.FlagSet) {
	flags.IntVar((*int)(v), "v", 0, "log more: 1 adds what was done and what the libraries say, 2 each pass over an object, 4 each request")
}

// logs makes the loggers of one process; they share a writer, line by line.
type logs struct {
	verbosity verbosity
	out       *lineWriter
}

func newLogs(w io.Writer, v verbosity) *logs { return &logs{verbosity: v, out: &lineWriter{w: w}} }

// own is the logger of our parts: information and worse, more with the verbosity.
func (l *logs) own(part string) *slog.Logger {
	return slog.New(newLineHandler(l.out, part, slog.LevelInfo-slog.Level(l.verbosity)))
}

// library is the logger of parts that are chatty at the information level: warnings and worse, unless asked for more.
func (l *logs) library(part string) logr.Logger {
	level := slog.LevelWarn
	if l.verbosity > 0 {
		level = slog.LevelInfo - slog.Level(l.verbosity)
	}
	return logr.FromSlogHandler(newLineHandler(l.out, part, level))
}

// controllers is the logger of our reconcilers, which report at the information level what a person should see.
func (l *logs) controllers() logr.Logger { return logr.FromSlogHandler(l.own("controllers").Handler()) }

// lineWriter writes whole lines for several handlers.
type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(line)
}

// lineHandler writes a record as a person reads it: time, level if it is unusual, part, message, then key=value.
type lineHandler struct {
	out   *lineWriter
	part  string
	level slog.Level
	// with replays WithAttrs and WithGroup on the handler that formats one record's attributes.
	with []func(slog.Handler) slog.Handler
}

func newLineHandler(out *lineWriter, part string, level slog.Level) *lineHandler {
	return &lineHandler{out: out, part: part, level: level}
}

// Enabled implements slog.Handler.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	var line bytes.Buffer
	line.WriteString(r.Time.Local().Format(time.DateTime))
	line.WriteByte(' ')
	if r.Level >= slog.LevelWarn {
		line.WriteString(r.Level.String() + " ")
	}
	line.WriteString(h.part + ": " + strings.TrimSpace(r.Message) + " ")
	attributes := slog.Handler(slog.NewTextHandler(&line, &slog.HandlerOptions{Level: h.level, ReplaceAttr: onlyAttributes}))
	for _, with := range h.with {
		attributes = with(attributes)
	}
	if err := attributes.Handle(ctx, r); err != nil {
		return err
	}
	_, err := h.out.Write(append(bytes.TrimRight(line.Bytes(), " \n"), '\n'))
	return err
}

// onlyAttributes drops what Handle has written itself.
func onlyAttributes(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.replay(func(inner slog.Handler) slog.Handler { return inner.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	return h.replay(func(inner slog.Handler) slog.Handler { return inner.WithGroup(name) })
}

func (h *lineHandler) replay(step func(slog.Handler) slog.Handler) slog.Handler {
	derived := *h
	derived.with = append(append([]func(slog.Handler) slog.Handler{}, h.with...), step)
	return &derived
}
