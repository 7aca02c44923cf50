// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package watchlog logs why watches fail.
package watchlog

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
)

// remindOfErrors is when a watch that still fails is logged again.
const remindOfErrors = time.Hour

// Errors logs why watches fail, which client-go repeats every few seconds for every kind: once for each kind whose definition is
// gone, and once for all kinds if the API server cannot be reached.
type Errors struct {
	Log logr.Logger

	mu     sync.Mutex
	logged map[string]time.Time
}

// Handle is for cache.Options.DefaultWatchErrorHandler.
func (w *Errors) Handle(_ context.Context, r *cache.Reflector, err error) {
	w.report(r.TypeDescription(), err)
}

func (w *Errors) report(kind string, err error) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, io.EOF), apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		w.Log.V(4).Info("Watch closed", "type", kind, "cause", err)
	case apierrors.IsNotFound(err):
		w.once("missing/"+kind, "A kind is not installed: its objects are not reconciled until its definition is applied again", "type", kind)
	case apierrors.ReasonForError(err) == "": // the request did not reach the API server
		w.once("unreachable", "Cannot watch objects: the API server cannot be reached; this is retried", "error", err.Error())
	default:
		w.once(string(apierrors.ReasonForError(err))+"/"+kind, "Cannot watch objects; this is retried", "type", kind, "error", err.Error())
	}
}

func (w *Errors) once(what, message string, keysAndValues ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	level := 0
	if last, ok := w.logged[what]; ok && time.Since(last) < remindOfErrors {
		level = 1
	} else if w.logged == nil {
		w.logged = map[string]time.Time{what: time.Now()}
	} else {
		w.logged[what] = time.Now()
	}
	w.Log.V(level).Info(message, keysAndValues...)
}
