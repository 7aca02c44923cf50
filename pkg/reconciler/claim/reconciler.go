// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/scheduling"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Reconciler reports on claims of one kind why nothing serves them (N10).
type Reconciler = scheduling.Reporter

// An Option changes one thing about a Reconciler.
type Option = scheduling.ReporterOption

// WithPatience sets how long other controllers have to act on a claim, or the classes to become known, before the claim reports that
// it waits for that. Default: 30 seconds.
func WithPatience(d time.Duration) Option { return scheduling.WithPatience(d) }

// WithRecorder sets where events are recorded. Default: the API server's events, source claim/<controller name>.
func WithRecorder(er event.Recorder) Option { return scheduling.WithReportRecorder(er) }

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) Option { return scheduling.WithReportLogger(l) }

// WithClock sets the source of the time. Default: time.Now.
func WithClock(now func() time.Time) Option { return scheduling.WithClock(now) }

// NewReconciler returns a reconciler for claims of a kind in the manager's scheme.
func NewReconciler(mgr manager.Manager, of resource.ClaimKind, o ...Option) *Reconciler {
	return scheduling.NewReporter(mgr, of, o...)
}

// ControllerName returns the name of the controller of a claim kind: claim.<kind>.<group> in lower case.
func ControllerName(of resource.ClaimKind) string { return scheduling.ReporterName(of) }

// CacheDefinitions has a manager's cache hold no more of custom resource definitions than the controllers of claims need: of those
// that define classes, which claims they are for. Without it the cache holds the metadata of all definitions.
func CacheDefinitions(o *cache.Options) { watch.CacheDefinitions(o) }
