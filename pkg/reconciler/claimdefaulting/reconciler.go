// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimdefaulting assigns the default class to claims without a class selector (contract 4.18).
//
//	return claimdefaulting.NewReconciler(mgr,
//		resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
//		resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
//	).SetupWithManager(mgr)
//
// # The one idea
//
// A default class has the annotation resourceclass.crossplane.io/is-default-class: "true". There is a defaulter for each class kind of
// a claim kind, and each knows the classes of all of them. So a claim gets a default class only if there is exactly one for its kind
// (N10), and only from the defaulter of that kind.
//
// It writes spec.classRef and nothing else. Package claim reports on a claim for which there is no default class, or several; the
// defaulter reconciles it again when classes change. See package claimscheduling for the rest, which is the same.
package claimdefaulting

import (
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/scheduling"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// ReasonClassSelected is the reason of the event that names the class of a claim.
const ReasonClassSelected = scheduling.ReasonClassSelected

// A Reconciler gives claims without a class selector the default class of one kind (A61).
type Reconciler = scheduling.Assigner

// An Option changes one thing about a Reconciler.
type Option = scheduling.AssignerOption

// WithRecorder sets where events are recorded. Default: the API server's events, source claimdefaulting/<controller name>.
func WithRecorder(er event.Recorder) Option { return scheduling.WithRecorder(er) }

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) Option { return scheduling.WithLogger(l) }

// WithPollInterval sets how often claims that wait for a class are reconciled by a controller without Wakeups. Default: 10 seconds.
func WithPollInterval(d time.Duration) Option { return scheduling.WithPollInterval(d) }

func role() scheduling.Role {
	return scheduling.Role{Package: "claimdefaulting", Prefix: "defaulter", Takes: resource.HasNoClassSelector()}
}

// NewReconciler returns a reconciler for one pair of kinds (R5), which must be in the manager's scheme.
func NewReconciler(mgr manager.Manager, claims resource.ClaimKind, class resource.ClassKind, o ...Option) *Reconciler {
	return role().NewAssigner(mgr, claims, class, o...)
}

// ControllerName returns the name of the controller of a pair of kinds: defaulter.<claim kind>.<managed kind>.<group of the managed
// kind>, in lower case.
func ControllerName(claims resource.ClaimKind, class resource.ClassKind) string {
	return role().ControllerName(claims, class)
}
