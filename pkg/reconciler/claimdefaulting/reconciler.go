// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimdefaulting

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/classes"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// ReasonClassSelected is the reason of the event that names the class that a claim got.
const ReasonClassSelected = classes.ReasonClassSelected

// A Reconciler gives claims that do not say which class they want the default class of one kind (A61).
type Reconciler struct {
	assigner *classes.Assigner
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithRecorder sets who records events. Default: the API server's events, source claimdefaulting/<controller name>.
func WithRecorder(er event.Recorder) Option {
	return func(r *Reconciler) { r.assigner.Recorder = er }
}

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) Option {
	return func(r *Reconciler) { r.assigner.Log = l }
}

// WithPollInterval sets how often claims that wait for a class are looked at where the controller has no Wakeups. Default: 10
// seconds.
func WithPollInterval(d time.Duration) Option {
	return func(r *Reconciler) { r.assigner.PollInterval = d }
}

func role() classes.Role {
	return classes.Role{Package: "claimdefaulting", Prefix: "defaulter", Takes: resource.HasNoClassSelector()}
}

// NewReconciler returns a reconciler for one pair of kinds (R5), which must be in the manager's scheme.
func NewReconciler(mgr manager.Manager, claims resource.ClaimKind, class resource.ClassKind, o ...Option) *Reconciler {
	r := &Reconciler{assigner: role().NewAssigner(mgr, claims, class)}
	for _, apply := range o {
		apply(r)
	}
	return r
}

// Reconcile gives a claim its class if that is of the reconciler's kind, and leaves every other claim alone.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	return r.assigner.Reconcile(ctx, req)
}

// Wakeups returns a source that brings claims back that wait for a class, when classes appear, change or go. Add it to the
// reconciler's controller with WatchesRawSource; without it such claims come back with the poll interval.
func (r *Reconciler) Wakeups() source.Source { return r.assigner.Wakeups() }

// SetupWithManager adds a controller to the manager that watches claims and classes. Its name is ControllerName.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	return r.assigner.SetupWithManager(mgr, r)
}

// ControllerName returns the name of the controller of a pair of kinds: defaulter.<claim kind>.<managed kind>.<group of the
// managed kind>, in lower case.
func ControllerName(claims resource.ClaimKind, class resource.ClassKind) string {
	return classes.ControllerName(role().Prefix, claims, class)
}
