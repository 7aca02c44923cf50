// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logs makes the loggers of the commands that run servers.
//
//	l := logs.New(os.Stderr, verbosity)
//	l.Own("cloud").Info("Ready")                    // 2026-01-02 03:04:05 cloud: Ready
//	server.Log = l.Library("apiserver")             // warnings and errors only, unless -v asks for more
//
// All loggers of one process share a writer and never interleave lines.
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
	"github.com/spf13/pflag"
)

// Verbosity is the flag --v. At 0 the log has our own messages and warnings of libraries; each step more adds one level of logr
// and klog.
type Verbosity int

// AddFlags registers the flag.
func (v *Verbosity) AddFlags(flags *pflag.FlagSet) {
	flags.IntVar((*int)(v), "v", 0, "log more: 1 adds actions and messages of libraries, 2 each reconcile, 4 each request")
}

// Logs makes the loggers of one process.
type Logs struct {
	verbosity Verbosity
	out       *lineWriter
}

// New returns loggers that write lines to w.
func New(w io.Writer, v Verbosity) *Logs { return &Logs{verbosity: v, out: &lineWriter{w: w}} }

// Own returns the logger of a part of Bowline: information and worse, more with the verbosity.
func (l *Logs) Own(part string) *slog.Logger {
	return slog.New(&lineHandler{out: l.out, part: part, level: slog.LevelInfo - slog.Level(l.verbosity)})
}

// Library returns the logger of a part that is chatty at the information level: warnings and worse at verbosity 0.
func (l *Logs) Library(part string) logr.Logger {
	level := slog.LevelWarn
	if l.verbosity > 0 {
		level = slog.LevelInfo - slog.Level(l.verbosity)
	}
	return logr.FromSlogHandler(&lineHandler{out: l.out, part: part, level: level})
}

// Controllers returns the logger of our reconcilers, which log at the information level what a person should read.
func (l *Logs) Controllers() logr.Logger { return logr.FromSlogHandler(l.Own("controllers").Handler()) }

type lineWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lineWriter) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(line)
}

// lineHandler writes a record as one readable line: time, level if it is unusual, part, message, then key=value.
type lineHandler struct {
	out   *lineWriter
	part  string
	level slog.Level
	// with replays WithAttrs and WithGroup on the handler that formats one record's attributes.
	with []func(slog.Handler) slog.Handler
}

// Enabled implements slog.Handler.
func (h *lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle implements slog.Handler.
func (h *lineHandler) Handle(ctx context.Context, r slog.Record) error {
	var line bytes.Buffer
	line.WriteString(r.Time.Local().Format(time.DateTime) + " ")
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
