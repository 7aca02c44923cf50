// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clientlog sends the log of etcd's client to the log of the server: it would write JSON to the standard error.
//
// The API server makes the logger of its etcd client when its packages are initialized, from a variable that nothing else can set in
// time: a package that depends on little is initialized before one that comes later in the order of import paths and depends on more.
package clientlog

import (
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/zap"
)

// target is the log of the server that runs.
var target atomic.Pointer[logr.Logger]

// SendTo sends entries to a log from now on, at level 1: the API server reports the failures that last.
func SendTo(log logr.Logger) {
	if redirected != nil {
		log.Error(redirected, "The log of the etcd client goes to the standard error")
	}
	target.Store(&log)
}

const scheme = "bowline"

// redirected is nil: nothing else has the scheme. It is a variable to be set before the API server makes its logger.
var redirected = redirect()

func redirect() error {
	err := zap.RegisterSink(scheme, func(*url.URL) (zap.Sink, error) { return sink{}, nil })
	if err == nil {
		logutil.DefaultZapLoggerConfig.OutputPaths = []string{scheme + ":etcd-client"}
	}
	return err
}

type sink struct{}

func (sink) Write(entry []byte) (int, error) {
	if log := target.Load(); log != nil {
		log.V(1).Info("Message of the etcd client", "entry", strings.TrimSpace(string(entry)))
	}
	return len(entry), nil
}

func (sink) Sync() error { return nil }

func (sink) Close() error { return nil }
