// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// logRelay forwards Kubernetes' log to the running server. klog has one logger per process, which must not be replaced while it is
// in use, so klog gets this relay once.
type logRelay struct{ target *atomic.Pointer[logr.Logger] }

// kubernetesLog installs the relay at its first use. It is the only state of this package that outlives a server.
var kubernetesLog = sync.OnceValue(func() logRelay {
	relay := logRelay{target: &atomic.Pointer[logr.Logger]{}}
	relay.to(logr.Discard())
	klog.SetLoggerWithOptions(logr.New(&relaySink{relay: relay}), klog.ContextualLogger(true))
	return relay
})

func (r logRelay) to(log logr.Logger) { r.target.Store(&log) }

// relaySink is the sink of a logRelay. Kubernetes' messages at level 0 are for its developers, so each message becomes one level more
// verbose; errors stay errors.
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
