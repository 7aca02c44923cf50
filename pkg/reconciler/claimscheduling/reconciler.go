// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

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
