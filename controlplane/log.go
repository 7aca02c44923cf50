// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// A kubernetesTarget is where Kubernetes' log goes: to the server that runs.
type kubernetesTarget struct {
	log logr.Logger
	// demoteRetried logs errors that are retried as information: while the parts of Kubernetes start or stop, they cannot reach each other.
	demoteRetried atomic.Bool
}

// settling is how long the parts of Kubernetes may not reach each other after a start.
const settling = 30 * time.Second

// kubernetesLog returns the target of Kubernetes' log. klog's logger must not be replaced while it is in use, so klog gets a relay once
// per process.
var kubernetesLog = sync.OnceValue(func() *atomic.Pointer[kubernetesTarget] {
	target := &atomic.Pointer[kubernetesTarget]{}
	target.Store(&kubernetesTarget{log: logr.Discard()})
	relay := &relaySink{target: target, derive: func(l logr.Logger) logr.Logger { return l }}
	klog.SetLoggerWithOptions(logr.New(relay), klog.ContextualLogger(true))
	return target
})

// logKubernetes sends Kubernetes' log to a logger from now on, until ctx ends without the errors of parts that stop.
func logKubernetes(ctx context.Context, log logr.Logger) {
	target := &kubernetesTarget{log: log}
	target.demoteRetried.Store(true)
	settled := time.AfterFunc(settling, func() { target.demoteRetried.Store(false) })
	context.AfterFunc(ctx, func() {
		if settled.Stop(); ctx.Err() != nil {
			target.demoteRetried.Store(true)
		}
	})
	kubernetesLog().Store(target)
}

// A relaySink makes each message one level more verbose: Kubernetes' level 0 is for its developers. Errors stay errors.
type relaySink struct {
	target  *atomic.Pointer[kubernetesTarget]
	derive  func(logr.Logger) logr.Logger // adds names and values
	retried bool                          // messages are about errors that are retried
}

func (s *relaySink) logger() logr.Logger { return s.derive(s.target.Load().log.WithCallDepth(2)) }

func (s *relaySink) Init(logr.RuntimeInfo) {}

func (s *relaySink) Enabled(level int) bool { return s.target.Load().log.V(level + 1).Enabled() }

func (s *relaySink) Info(level int, msg string, kv ...any) { s.logger().V(level+1).Info(msg, kv...) }

// emptyManifest is an error that Kubernetes reports at every start of a server without manifests.
const emptyManifest = "The manifest file is empty, ignoring."

func (s *relaySink) Error(err error, msg string, kv ...any) {
	switch {
	case msg == emptyManifest:
	case s.retried && s.target.Load().demoteRetried.Load():
		s.Info(0, msg, append(kv, "error", err)...)
	default:
		s.logger().Error(err, msg, kv...)
	}
}

func (s *relaySink) WithValues(kv ...any) logr.LogSink {
	return &relaySink{s.target, func(l logr.Logger) logr.Logger { return s.derive(l).WithValues(kv...) }, s.retried}
}

// WithName adds a name. Package util/runtime has its own for errors that a controller retries.
func (s *relaySink) WithName(name string) logr.LogSink {
	derive := func(l logr.Logger) logr.Logger { return s.derive(l).WithName(name) }
	return &relaySink{s.target, derive, s.retried || name == "UnhandledError"}
}
