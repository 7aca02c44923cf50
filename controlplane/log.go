// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// kubernetesLog returns where Kubernetes' log goes: to the server that runs. klog's logger must not be replaced while it is in use,
// so klog gets a relay once per process.
var kubernetesLog = sync.OnceValue(func() *atomic.Pointer[logr.Logger] {
	target := &atomic.Pointer[logr.Logger]{}
	target.Store(new(logr.Discard()))
	relay := &relaySink{target: target, derive: func(l logr.Logger) logr.Logger { return l }}
	klog.SetLoggerWithOptions(logr.New(relay), klog.ContextualLogger(true))
	return target
})

// A relaySink makes each message one level more verbose: Kubernetes' level 0 is for its developers. Errors stay errors.
type relaySink struct {
	target *atomic.Pointer[logr.Logger]
	derive func(logr.Logger) logr.Logger // adds names and values
}

func (s *relaySink) logger() logr.Logger { return s.derive(s.target.Load().WithCallDepth(2)) }

func (s *relaySink) Init(logr.RuntimeInfo) {}

func (s *relaySink) Enabled(level int) bool { return s.target.Load().V(level + 1).Enabled() }

func (s *relaySink) Info(level int, msg string, kv ...any) { s.logger().V(level+1).Info(msg, kv...) }

// emptyManifest is an error that Kubernetes reports at every start of a server without manifests.
const emptyManifest = "The manifest file is empty, ignoring."

func (s *relaySink) Error(err error, msg string, kv ...any) {
	if msg != emptyManifest {
		s.logger().Error(err, msg, kv...)
	}
}

func (s *relaySink) WithValues(kv ...any) logr.LogSink {
	return &relaySink{s.target, func(l logr.Logger) logr.Logger { return s.derive(l).WithValues(kv...) }}
}

func (s *relaySink) WithName(name string) logr.LogSink {
	return &relaySink{s.target, func(l logr.Logger) logr.Logger { return s.derive(l).WithName(name) }}
}
