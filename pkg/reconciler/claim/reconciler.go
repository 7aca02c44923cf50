// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claim reports on claims why nothing serves them, so that no claim is ever silent (N10).
//
//	return claim.NewReconciler(mgr, resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind)).SetupWithManager(mgr)
//
// # The one idea
//
// The controllers that serve a claim report on it; this one reports while none does. A scheduler or a defaulter cannot report that no
// class matches, since another provider's may. There is one controller of this kind for each claim kind, it belongs to the core, and
// it sees the classes of all providers. It writes the conditions of a claim only
//
//   - while the claim has neither class nor managed resource: NoMatchingClass, AmbiguousDefaultClass, or Binding if there is a class
//     for it and no controller assigns that;
//   - while those that it names are of kinds that no provider offers for such claims: ClassNotFound. A claim with the finalizer of
//     package claimbinding that is not bound gets time before.
//
// It removes that finalizer from a deleted claim that names no managed resource and nothing that a provider offers. Each write is
// guarded by the resource version.
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
