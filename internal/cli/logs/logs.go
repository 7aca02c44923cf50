// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logs makes the loggers of the commands that run servers.
//
//	l := logs.New(ctx, os.Stderr, verbosity)
//	l.Own("cloud").Info("Ready")                    // 2026-01-02 03:04:05 cloud: Ready
//	server.Log = l.Library("apiserver")             // warnings and errors only, unless -v asks for more
package logs

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
)

// Logs makes the loggers of one process. At verbosity 0 the log has our own messages and warnings of libraries; each step more adds
// one level of logr and klog.
type Logs struct {
	verbosity int
	json      bool
	life      context.Context
	mu        sync.Mutex // of out
	out       io.Writer
}

// New returns loggers that write lines to w and never interleave them. From the end of ctx they drop what libraries log at verbosity 0:
// parts that stop miss each other, and what they wait for.
func New(ctx context.Context, w io.Writer, verbosity int) *Logs {
	return &Logs{verbosity: verbosity, life: ctx, out: w}
}

// UseJSON makes each line a JSON object, for programs that collect logs. Call it before anything is logged.
func (l *Logs) UseJSON() { l.json = true }

// Own returns the logger of a part of Bowline: information and worse, more with the verbosity.
func (l *Logs) Own(part string) *slog.Logger {
	return slog.New(&lineHandler{logs: l, part: part, level: slog.LevelInfo - slog.Level(l.verbosity)})
}

// Library returns the logger of a part that is chatty at the information level: warnings and worse at verbosity 0.
func (l *Logs) Library(part string) logr.Logger {
	level := slog.LevelWarn
	if l.verbosity > 0 {
		level = slog.LevelInfo - slog.Level(l.verbosity)
	}
	return logr.FromSlogHandler(&lineHandler{logs: l, part: part, level: level, library: true})
}

// Controllers returns the logger of our reconcilers, which log at the information level what a person should read.
func (l *Logs) Controllers() logr.Logger { return logr.FromSlogHandler(l.Own("controllers").Handler()) }

// A lineHandler writes a record as one readable line: time, level if it is unusual, part, message, then key=value.
type lineHandler struct {
	logs    *Logs
	part    string
	level   slog.Level
	library bool
	with    []func(slog.Handler) slog.Handler // replays WithAttrs and WithGroup on the handler that formats one record
}

// Enabled implements slog.Handler.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements slog.Handler. It formats without the mutex, since an attribute may log when it is formatted.
func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	if h.library && h.logs.verbosity == 0 && h.logs.life.Err() != nil {
		return nil
	}
	var line bytes.Buffer
	if h.logs.json {
		object := slog.NewJSONHandler(&line, &slog.HandlerOptions{Level: h.level}).WithAttrs([]slog.Attr{slog.String("part", h.part)})
		return h.write(ctx, r, object, &line)
	}
	line.WriteString(r.Time.Local().Format(time.DateTime) + " ")
	if r.Level >= slog.LevelWarn {
		line.WriteString(r.Level.String() + " ")
	}
	line.WriteString(h.part + ": " + strings.TrimSpace(r.Message) + " ")
	return h.write(ctx, r, slog.NewTextHandler(&line, &slog.HandlerOptions{Level: h.level, ReplaceAttr: onlyAttributes}), &line)
}

// write completes the line by what the handler makes of the record, and writes it.
func (h *lineHandler) write(ctx context.Context, r slog.Record, by slog.Handler, line *bytes.Buffer) error {
	for _, with := range h.with {
		by = with(by)
	}
	if err := by.Handle(ctx, r); err != nil {
		return err
	}
	h.logs.mu.Lock()
	defer h.logs.mu.Unlock()
	_, err := h.logs.out.Write(append(bytes.TrimRight(line.Bytes(), " \n"), '\n'))
	return err
}

// onlyAttributes drops the parts of a record that Handle has written itself.
func onlyAttributes(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// WithAttrs implements slog.Handler.
func (h *lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.derive(func(inner slog.Handler) slog.Handler { return inner.WithAttrs(attrs) })
}

// WithGroup implements slog.Handler.
func (h *lineHandler) WithGroup(name string) slog.Handler {
	return h.derive(func(inner slog.Handler) slog.Handler { return inner.WithGroup(name) })
}

func (h *lineHandler) derive(step func(slog.Handler) slog.Handler) slog.Handler {
	derived := *h
	derived.with = append(slices.Clone(h.with), step)
	return &derived
}
