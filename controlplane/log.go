// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"k8s.io/klog/v2"
)

// logRelay hands Kubernetes' log on to the server that runs. klog has one logger per process, which must not be replaced
// while anybody logs, so it gets this relay once.
type logRelay struct{ target *atomic.Pointer[logr.Logger] }

// kubernetesLog installs the relay at its first use. It is the one piece of state of this package that outlives a
// server, as klog's is.
var kubernetesLog = sync.OnceValue(func() logRelay {
	relay := logRelay{target: &atomic.Pointer[logr.Logger]{}}
	relay.to(logr.Discard())
	klog.SetLoggerWithOptions(logr.New(&relaySink{relay: relay}), klog.ContextualLogger(true))
	return relay
})

func (r logRelay) to(log logr.Logger) { r.target.Store(&log) }

// relaySink is the sink side of a logRelay; it keeps names and values until there is a message to hand on. What Kubernetes
// tells by default is for its developers, so each message is one level more verbose here; errors stay errors.
type relaySink struct {
	relay  logRelay
	names  []string
	values []any
}

func (s *relaySink) logger() logr.Logger {
	log := s.relay.target.Load().WithCallDepth(2)
	for _, name := range s.names {
		log = log.WithName(name)
	}
	return log.WithValues(s.values...)
}

func (s *relaySink) Init(logr.RuntimeInfo) {}

func (s *relaySink) Enabled(level int) bool { return s.relay.target.Load().V(level + 1).Enabled() }

func (s *relaySink) Info(level int, msg string, kv ...any) { s.logger().V(level+1).Info(msg, kv...) }

// emptyManifest is an error that Kubernetes reports at every start of a server that has no manifests, as ours has none.
const emptyManifest = "The manifest file is empty, ignoring."

func (s *relaySink) Error(err error, msg string, kv ...any) {
	if msg == emptyManifest {
		return
	}
	s.logger().Error(err, msg, kv...)
}

func (s *relaySink) WithValues(kv ...any) logr.LogSink {
	return &relaySink{relay: s.relay, names: s.names, values: append(s.values[:len(s.values):len(s.values)], kv...)}
}

func (s *relaySink) WithName(name string) logr.LogSink {
	return &relaySink{relay: s.relay, names: append(s.names[:len(s.names):len(s.names)], name), values: s.values}
}

// newZapLogger returns a zap logger that writes to log. Where etcd would end the process, or panic, fail gets the reason
// instead and only the goroutine concerned ends.
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
