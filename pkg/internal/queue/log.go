// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// LogOf makes the logger that controller-runtime uses for a controller. It is not the one of the manager, which reconcilers use: at the
// information level controller-runtime logs each start and stop of a watch and a worker.
func LogOf(mgr manager.Manager, name string) func(*reconcile.Request) logr.Logger {
	log := mgr.GetControllerOptions().Logger.WithValues("controller", name)
	if sink := log.GetSink(); sink != nil {
		log = log.WithSink(repeats{sink})
	}
	return func(about *reconcile.Request) logr.Logger {
		if about == nil {
			return log
		}
		return log.WithValues("object", about.String())
	}
}

// Logged marks an error that the reconciler has logged, or did when it occurred first. Controller-runtime logs the error of each pass.
func Logged(err error) error {
	if err == nil {
		return nil
	}
	return logged{err}
}

type logged struct{ error }

func (l logged) Unwrap() error { return l.error }

// repeats shows errors that are marked as Logged, or that end a pass of a process that stops, at level 1.
type repeats struct{ logr.LogSink }

func (s repeats) Error(err error, message string, keysAndValues ...any) {
	if _, ok := errors.AsType[logged](err); !ok && !errors.Is(err, context.Canceled) {
		s.LogSink.Error(err, message, keysAndValues...)
	} else if s.Enabled(1) {
		s.Info(1, message, append(keysAndValues, "error", err)...)
	}
}

func (s repeats) WithValues(keysAndValues ...any) logr.LogSink {
	return repeats{s.LogSink.WithValues(keysAndValues...)}
}

func (s repeats) WithName(name string) logr.LogSink { return repeats{s.LogSink.WithName(name)} }
