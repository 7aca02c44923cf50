// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// ReasonClassSelected is the reason of the event that names the class of a claim.
const ReasonClassSelected event.Reason = "ClassSelected"

const (
	pollInterval = 10 * time.Second // of claims that wait for a class, where no watch enqueues them
	unknownDelay = time.Second
	concurrency  = 8 // claims that are reconciled at the same time
)

// An Assigner records the class of claims that have none (A60, A61), if that is of its kind.
type Assigner struct {
	recorder event.Recorder
	log      logr.Logger

	name     string
	client   client.Client
	live     client.Reader
	claims   schema.GroupVersionKind
	class    schema.GroupVersionKind
	takes    resource.PredicateFn
	classes  *watch.Classes
	watching atomic.Bool // claims are enqueued when classes change
}

// A Role distinguishes schedulers and defaulters.
type Role int

// Roles.
const (
	Scheduling Role = iota // for claims with a class selector
	Defaulting             // for those without
)

// NewAssigner returns an Assigner for claims and classes of kinds in the manager's scheme.
func NewAssigner(mgr manager.Manager, role Role, claims resource.ClaimKind, class resource.ClassKind) *Assigner {
	pkg, prefix, takes := "claimscheduling", "scheduler", resource.HasClassSelector()
	if role == Defaulting {
		pkg, prefix, takes = "claimdefaulting", "defaulter", resource.HasNoClassSelector()
	}
	// (R10, R11): <prefix>.<claim kind>.<managed kind>.<group>
	name := strings.ToLower(fmt.Sprintf("%s.%s.%s.%s", prefix, claims.Kind, strings.TrimSuffix(class.Kind, watch.ClassSuffix), class.Group))
	_ = objects.MustNew[resource.Claim](mgr.GetScheme(), schema.GroupVersionKind(claims)) // panic now where the scheme lacks the kind
	return &Assigner{
		recorder: event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), pkg+"/"+name),
		log:      mgr.GetLogger().WithValues("controller", name),
		name:     name,
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		claims:   schema.GroupVersionKind(claims),
		class:    schema.GroupVersionKind(class),
		takes:    resource.AllOf(takes, resource.HasNoClassReference(), resource.HasNoManagedResourceReference()),
		classes:  watch.NewClasses(mgr, claims, class),
	}
}

// Reconcile records the class of a claim if that is of the Assigner's kind, and leaves every other claim alone.
func (a *Assigner) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := objects.MustNew[resource.Claim](a.client.Scheme(), a.claims)
	if err := a.client.Get(ctx, req.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !a.serves(claim) {
		return reconcile.Result{}, nil
	}
	class, err := choose(ctx, a.classes, a.live, claim)
	if is[*unreadError](err) {
		return reconcile.Result{}, err
	}
	if err != nil || class.Kind.GroupKind() != a.class.GroupKind() {
		return a.later(err), nil // the Reporter reports why (N10), or the Assigner of another kind acts
	}
	_, err = objects.Patch(ctx, a.client, claim, func(claim resource.Claim) {
		apiVersion, kind := a.class.ToAPIVersionAndKind()
		claim.SetClassReference(&corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Name: class.Name})
	})
	switch {
	case apierrors.IsConflict(err): // another Assigner may have been first (R17, R242)
		return reconcile.Result{RequeueAfter: flow.ConflictDelay}, nil
	case err != nil:
		return reconcile.Result{}, client.IgnoreNotFound(fmt.Errorf("writing the class of the claim: %w", err))
	}
	flow.Emit(ctx, a.recorder, a.log, claim, event.Normal(ReasonClassSelected, "The claim gets "+class.String()))
	return reconcile.Result{}, nil
}

// serves is true for claims that wait for a class (R235, R244, R247, R253).
func (a *Assigner) serves(claim resource.Claim) bool {
	return !meta.WasDeleted(claim) && a.takes(claim)
}

// later is when to reconcile a claim again that gets no class now: soon if only because not all classes are known yet.
func (a *Assigner) later(why error) reconcile.Result {
	switch {
	case a.watching.Load():
		return reconcile.Result{}
	case why != nil && !is[*noChoiceError](why):
		return reconcile.Result{RequeueAfter: unknownDelay}
	default:
		return reconcile.Result{RequeueAfter: pollInterval}
	}
}

// Wakeups returns a source that enqueues claims that wait for a class when classes appear, change or are deleted. Add it to a
// controller with WatchesRawSource; without it such claims are polled.
func (a *Assigner) Wakeups() source.Source {
	wakeups := a.classes.Source(a.serves)
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		a.watching.Store(true)
		return wakeups.Start(ctx, queue)
	})
}

// SetupWithManager adds a controller to the manager that watches claims and classes. Its name, in lower case, is
// <scheduler or defaulter>.<claim kind>.<managed kind>.<group>.
func (a *Assigner) SetupWithManager(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(a.name).
		For(objects.MustNew[client.Object](mgr.GetScheme(), a.claims), builder.WithPredicates(resource.NewPredicates(a.takes))).
		WatchesRawSource(a.Wakeups()).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, NewQueue: queue.Of(mgr)}).
		Complete(a)
}
