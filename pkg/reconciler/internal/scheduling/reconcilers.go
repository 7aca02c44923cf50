// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
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
	if _, unread := errors.AsType[*unreadError](err); unread {
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
	if a.watching.Load() {
		return reconcile.Result{}
	}
	if _, none := errors.AsType[*failure.Error](why); why == nil || none {
		return reconcile.Result{RequeueAfter: pollInterval}
	}
	return reconcile.Result{RequeueAfter: unknownDelay}
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

// A Reporter reports on claims of one kind why nothing serves them (N10).
type Reporter struct {
	// Patience is how much time other controllers have to act on a claim, and the classes to become known, before the claim reports
	// that it waits for that. Default: 30 seconds.
	Patience time.Duration
	Recorder event.Recorder
	Now      func() time.Time

	client  client.Client
	live    client.Reader
	kind    schema.GroupVersionKind
	classes *watch.Classes
	log     logr.Logger

	mu    sync.Mutex
	since map[types.NamespacedName]time.Time // when claims were first found to wait for another controller
}

// NewReporter returns a Reporter for claims of a kind in the manager's scheme.
func NewReporter(mgr manager.Manager, of resource.ClaimKind) *Reporter {
	name := ReporterName(of)
	_ = objects.MustNew[resource.Claim](mgr.GetScheme(), schema.GroupVersionKind(of)) // panic now where the scheme lacks the kind
	return &Reporter{
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		kind:     schema.GroupVersionKind(of),
		classes:  watch.NewClasses(mgr, of),
		Recorder: event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "claim/"+name),
		log:      mgr.GetLogger().WithValues("controller", name),
		Patience: 30 * time.Second,
		Now:      time.Now,
		since:    map[types.NamespacedName]time.Time{},
	}
}

// ReporterName returns the name of the controller of a claim kind: claim.<kind>.<group> in lower case.
func ReporterName(of resource.ClaimKind) string {
	return strings.ToLower("claim." + schema.GroupVersionKind(of).GroupKind().String())
}

// SetupWithManager adds a controller to the manager that watches claims and the classes for them.
func (r *Reporter) SetupWithManager(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(ReporterName(resource.ClaimKind(r.kind))).
		For(objects.MustNew[client.Object](mgr.GetScheme(), r.kind)).
		WatchesRawSource(r.classes.Source(func(c resource.Claim) bool { return !isFinished(c) })).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, NewQueue: queue.Of(mgr)}).
		Complete(r)
}

// Reconcile reports on a claim why nothing serves it, if that is so.
func (r *Reporter) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := objects.MustNew[resource.Claim](r.client.Scheme(), r.kind)
	if err := r.client.Get(ctx, req.NamespacedName, claim); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return r.settle(ctx, claim, r.judge(ctx, claim))
}

// A verdict is what to do with a claim.
type verdict struct {
	ready    xpv1.Condition // to report; without a type: nothing
	finalize bool           // remove the finalizer
	patient  bool           // only after other controllers had time to act
}

// isFinished is true for deleted claims that hold nothing.
func isFinished(claim resource.Claim) bool {
	return meta.WasDeleted(claim) && !meta.FinalizerExists(claim, meta.FinalizerClaim)
}

// judge finds why nothing serves a claim, or why its deletion cannot finish.
func (r *Reporter) judge(ctx context.Context, claim resource.Claim) verdict {
	switch {
	case isFinished(claim) && claim.GetCondition(xpv1.TypeReady).Status == corev1.ConditionTrue:
		return verdict{ready: xpv1.Deleting().WithMessage("The claim is released, and stays because of finalizers: " +
			strings.Join(claim.GetFinalizers(), ", ") + ". Check whether the programs that own them run.")}
	case isFinished(claim):
		return verdict{}
	case claim.GetClassReference() != nil || claim.GetResourceReference() != nil:
		return r.judgeReferences(claim)
	case meta.WasDeleted(claim): // and it names nothing that a controller could serve
		return verdict{finalize: true}
	}
	class, err := choose(ctx, r.classes, r.live, claim)
	if none, ok := errors.AsType[*failure.Error](err); ok {
		return verdict{ready: xpv1.Waiting(none.Reason, none.Message)}
	}
	if err != nil {
		return r.unknown(err)
	}
	return verdict{patient: true, ready: xpv1.Waiting(xpv1.ReasonBinding, fmt.Sprintf("The claim should get %s, but no controller assigns it. "+
		"Ask your platform team whether the provider of this class runs.", class))}
}

// judgeReferences finds whether nothing serves what a claim names. A managed resource counts before a class, as in package
// claimbinding. A claim with that package's finalizer gets time, since its class may be served though no definition says so, and
// nothing is reported while it is bound. If it names no managed resource, its deletion may finish: package claimbinding then reclaims
// what was created for it.
func (r *Reporter) judgeReferences(claim resource.Claim) verdict {
	field, what, ref, offers := "classRef", "classes", claim.GetClassReference(), r.classes.OffersClass
	reason, then := xpv1.ReasonClassNotFound, "Name another one, or ask your platform team to install the provider."
	mg := claim.GetResourceReference()
	if mg != nil {
		field, what, ref, offers = "resourceRef", "managed resources", mg, r.classes.OffersResource
		reason, then = xpv1.ReasonResourceNotFound, "Delete the claim and create it again with a managed resource, or with a class "+
			"(kubectl get classes), or ask your platform team to install the provider."
	}
	begun, deleted := meta.FinalizerExists(claim, meta.FinalizerClaim), meta.WasDeleted(claim)
	kind := ref.GroupVersionKind().GroupKind()
	offered, err := offers(kind)
	switch {
	case err != nil && !begun:
		return r.unknown(err)
	case err != nil, offered, begun && !deleted && claim.GetBindingPhase() == xpv1.BindingPhaseBound:
		return verdict{} // its own controllers report
	}
	why := fmt.Sprintf("spec.%s names kind %s, and no provider has such %s for claims of this kind. ", field, kind, what)
	if deleted {
		then = "Deletion finishes once your platform team has installed the provider again, or has removed the finalizer of the claim."
	}
	return verdict{finalize: deleted && mg == nil, patient: begun, ready: xpv1.Waiting(reason, why+then)}
}

// unknown is the verdict while not all classes are known. The cause is about the platform, and is logged.
func (r *Reporter) unknown(cause error) verdict {
	r.log.V(1).Info("Cannot judge claims yet", "reason", cause.Error())
	return verdict{patient: true, ready: xpv1.Waiting(xpv1.ReasonNoMatchingClass, "The classes for the claim could not be listed yet. If this "+
		"lasts, ask your platform team, who sees the cause in the controllers' log.")}
}

// settle is the only place that writes: the verdict if it is new, guarded by the resource version, since other controllers may report
// on the claim by now.
func (r *Reporter) settle(ctx context.Context, claim resource.Claim, v verdict) (reconcile.Result, error) {
	key := client.ObjectKeyFromObject(claim)
	if !v.patient {
		r.forget(key)
	}
	was := claim.GetCondition(xpv1.TypeReady)
	ready := v.ready.WithObservedGeneration(claim.GetGeneration())
	reported := ready.Type == "" || ready.Equal(was) && claim.GetBindingPhase() != ""
	if reported && !v.finalize {
		return reconcile.Result{}, nil
	}
	if v.patient {
		if rest := r.rest(key); rest > 0 {
			return reconcile.Result{RequeueAfter: rest}, nil
		}
	}
	var err error
	if v.finalize {
		_, err = objects.Patch(ctx, r.client, claim, func(c resource.Claim) { meta.RemoveFinalizer(c, meta.FinalizerClaim) })
	} else {
		_, err = flow.Report(ctx, r.client, claim, func() {
			claim.SetConditions(ready)
			flow.SetState(claim, v.state(), flow.States(claim))
			if claim.GetBindingPhase() == "" {
				claim.SetBindingPhase(xpv1.BindingPhaseUnbound)
			}
		})
	}
	switch {
	case apierrors.IsConflict(err): // another controller was first (R17)
		return reconcile.Result{RequeueAfter: flow.ConflictDelay}, nil
	case err != nil:
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	r.forget(key) // whatever is found next gets time again
	if !v.finalize && ready.Reason != was.Reason && ready.Reason != xpv1.ReasonDeleting {
		flow.Emit(ctx, r.Recorder, r.log, claim, event.Warning(event.Reason(ready.Reason), errors.New(ready.Message)))
	}
	return reconcile.Result{}, nil
}

// state is condition Stalled, or Reconciling for a claim that another controller should serve in time.
func (v verdict) state() xpv1.Condition {
	if v.patient {
		return xpv1.Reconciling(v.ready.Reason, v.ready.Message)
	}
	return xpv1.Stalled(v.ready.Reason, v.ready.Message)
}

// rest returns how much time other controllers still have to act on a claim. The first call starts the clock.
func (r *Reporter) rest(claim types.NamespacedName) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.since[claim]; !ok {
		r.since[claim] = r.Now()
	}
	return r.since[claim].Add(r.Patience).Sub(r.Now())
}

func (r *Reporter) forget(claim types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, claim)
}
