// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"fmt"
	"runtime"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// newZapLogger returns a zap logger that writes to log. Where etcd would end the process or panic, it calls fail instead, and only the
// current goroutine ends.
func newZapLogger(log logr.Logger, fail func(error)) *zap.Logger {
	end := endGoroutine{fail: fail}
	return zap.New(&zapCore{log: log.WithName("etcd")}, zap.WithFatalHook(end), zap.WithPanicHook(end))
}

type endGoroutine struct{ fail func(error) }

func (e endGoroutine) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	enc := zapcore.NewMapObjectEncoder()
	for _, f := range fields {
		f.AddTo(enc)
	}
	e.fail(fmt.Errorf("%s: %v", entry.Message, enc.Fields["error"]))
	runtime.Goexit()
}

// zapCore writes zap's entries to a logr.Logger: warnings as information, information at V(1), debugging at V(5).
type zapCore struct {
	log    logr.Logger
	fields []zapcore.Field
}

func (c *zapCore) Enabled(level zapcore.Level) bool {
	return level >= zapcore.DPanicLevel || c.log.V(verbosity(level)).Enabled()
}

func verbosity(level zapcore.Level) int {
	switch {
	case level >= zapcore.WarnLevel:
		return 0
	case level == zapcore.InfoLevel:
		return 1
	}
	return 5
}

func (c *zapCore) With(fields []zapcore.Field) zapcore.Core {
	return &zapCore{log: c.log, fields: append(c.fields[:len(c.fields):len(c.fields)], fields...)}
}

func (c *zapCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(entry.Level) {
		return checked.AddCore(entry, c)
	}
	return checked
}

func (c *zapCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	enc := zapcore.NewMapObjectEncoder()
	for _, list := range [][]zapcore.Field{c.fields, fields} {
		for _, f := range list {
			f.AddTo(enc)
		}
	}
	kv := make([]any, 0, 2*len(enc.Fields))
	for k, v := range enc.Fields {
		kv = append(kv, k, v)
	}
	c.log.V(verbosity(entry.Level)).Info(entry.Message, kv...)
	return nil
}

func (c *zapCore) Sync() error { return nil }
