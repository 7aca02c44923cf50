// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimscheduling assigns classes to claims with a class selector (contract 4.17).
//
//	return claimscheduling.NewReconciler(mgr,
//		resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
//		resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
//	).SetupWithManager(mgr)
//
// # The one idea
//
// There is a scheduler for each class kind of a claim kind, and each knows the classes of all of them. So all agree on the class of a
// claim: the first by group, kind and name of those that match and admit the claim's namespace. If none admits it, the first that
// matches is chosen, and package claimbinding reports NotAllowed. Only the scheduler of the chosen kind acts. Should two see different
// classes for a moment, the first write wins, since each is guarded by the resource version.
//
// It writes spec.classRef and nothing else. Package claim reports on a claim that no class matches; the scheduler reconciles it again
// when classes change. Package claimdefaulting is for claims without a selector; package claimbinding continues with the class.
//
// # Access
//
// It lists and watches definitions of kinds, and all classes for its claims, also those of other providers. Without that right it
// chooses nothing and logs why: a class that it cannot see might be the first. It gets namespaces if classes are for some only.
package claimscheduling

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

// A Reconciler gives claims that select a class by labels such a class of one kind (A60).
type Reconciler = scheduling.Assigner

// An Option changes one thing about a Reconciler.
type Option = scheduling.AssignerOption

// WithRecorder sets where events are recorded. Default: the API server's events, source claimscheduling/<controller name>.
func WithRecorder(er event.Recorder) Option { return scheduling.WithRecorder(er) }

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) Option { return scheduling.WithLogger(l) }

// WithPollInterval sets how often claims that wait for a class are reconciled by a controller without Wakeups. Default: 10 seconds.
func WithPollInterval(d time.Duration) Option { return scheduling.WithPollInterval(d) }

func role() scheduling.Role {
	return scheduling.Role{Package: "claimscheduling", Prefix: "scheduler", Takes: resource.HasClassSelector()}
}

// NewReconciler returns a reconciler for one pair of kinds (R5), which must be in the manager's scheme.
func NewReconciler(mgr manager.Manager, claims resource.ClaimKind, class resource.ClassKind, o ...Option) *Reconciler {
	return role().NewAssigner(mgr, claims, class, o...)
}

// ControllerName returns the name of the controller of a pair of kinds: scheduler.<claim kind>.<managed kind>.<group of the managed
// kind>, in lower case.
func ControllerName(claims resource.ClaimKind, class resource.ClassKind) string {
	return role().ControllerName(claims, class)
}
