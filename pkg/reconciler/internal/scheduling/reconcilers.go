// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"cmp"
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
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// An Assigner records the class of claims that have none, if that is of its kind (A60, A61).
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

// An assignment is one pass of an Assigner over a claim.
type assignment struct {
	claim resource.Claim
	class watch.Class
}

// Reconcile records the class of a claim if that is of the Assigner's kind, and leaves every other claim alone.
func (a *Assigner) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := &assignment{claim: objects.MustNew[resource.Claim](a.client.Scheme(), a.claims)}
	if err := a.client.Get(ctx, req.NamespacedName, p.claim); err != nil || !a.serves(p.claim) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	o := flow.Run(ctx, p, a.choose, a.record)
	if o.End == flow.Continue {
		flow.Emit(ctx, a.recorder, a.log, p.claim, event.Normal(ReasonClassSelected, "The claim gets "+p.class.String()))
	}
	return o.Result(o.After)
}

// choose ends the pass if the claim gets no class of the Assigner's kind now: the Reporter reports why, or the Assigner of another
// kind acts. Without a watch the claim is polled, and soon if only because not all classes are known yet (N10).
func (a *Assigner) choose(ctx context.Context, p *assignment) flow.Outcome {
	class, err := choose(ctx, a.classes, a.live, p.claim)
	_, unread := errors.AsType[*unreadError](err)
	_, none := errors.AsType[*failure.Error](err)
	switch p.class = class; {
	case unread:
		return flow.Failed("", err)
	case err == nil && class.Kind.GroupKind() == a.class.GroupKind():
		return flow.Next()
	case a.watching.Load():
		return flow.Await(0, "")
	case err == nil || none:
		return flow.Await(pollInterval, "")
	}
	return flow.Await(unknownDelay, "")
}

// record writes the class, unless another Assigner is first (R17, R242).
func (a *Assigner) record(ctx context.Context, p *assignment) flow.Outcome {
	_, err := objects.Patch(ctx, a.client, p.claim, func(claim resource.Claim) {
		apiVersion, kind := a.class.ToAPIVersionAndKind()
		claim.SetClassReference(&corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Name: p.class.Name})
	})
	if apierrors.IsNotFound(err) {
		return flow.Vanished()
	}
	return flow.FailedTo("writing the class of the claim", "", err)
}

// serves is true for claims that wait for a class (R235, R244, R247, R253).
func (a *Assigner) serves(claim resource.Claim) bool {
	return !meta.WasDeleted(claim) && a.takes(claim)
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
		WithOptions(queue.Options(mgr, a.name, concurrency, 0, 0)).
		Complete(a)
}

// A Reporter reports on claims of one kind why nothing serves them (N10).
type Reporter struct {
	// Patience is how much time other controllers have to act on a claim, and the classes to become known, before the claim reports
	// that it waits for that. Default: 30 seconds.
	Patience time.Duration
	Recorder event.Recorder
	Now      func() time.Time

	name    string
	client  client.Client
	live    client.Reader
	kind    schema.GroupVersionKind
	classes *watch.Classes
	log     logr.Logger

	since sync.Map // of time.Time by types.NamespacedName: when claims were first found to wait for another controller
}

// NewReporter returns a Reporter for claims of a kind in the manager's scheme.
func NewReporter(mgr manager.Manager, of resource.ClaimKind) *Reporter {
	name := strings.ToLower("claim." + schema.GroupVersionKind(of).GroupKind().String())
	_ = objects.MustNew[resource.Claim](mgr.GetScheme(), schema.GroupVersionKind(of)) // panic now where the scheme lacks the kind
	return &Reporter{
		name:     name,
		client:   mgr.GetClient(),
		live:     mgr.GetAPIReader(),
		kind:     schema.GroupVersionKind(of),
		classes:  watch.NewClasses(mgr, of),
		Recorder: event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "claim/"+name),
		log:      mgr.GetLogger().WithValues("controller", name),
		Patience: 30 * time.Second,
		Now:      time.Now,
	}
}

// SetupWithManager adds a controller to the manager that watches claims and the classes for them. Its name, in lower case, is
// claim.<claim kind>.<group>.
func (r *Reporter) SetupWithManager(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(r.name).
		For(objects.MustNew[client.Object](mgr.GetScheme(), r.kind)).
		WatchesRawSource(r.classes.Source(func(c resource.Claim) bool { return !isFinished(c) })).
		WithOptions(queue.Options(mgr, r.name, concurrency, 0, 0)).
		Complete(r)
}

// Reconcile reports on a claim why nothing serves it, if that is so.
func (r *Reporter) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := objects.MustNew[resource.Claim](r.client.Scheme(), r.kind)
	if err := r.client.Get(ctx, req.NamespacedName, claim); err != nil {
		if apierrors.IsNotFound(err) {
			r.since.Delete(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return r.settle(ctx, claim, flow.Run(ctx, claim, r.lifecycle(claim)...))
}

// lifecycle is the order of everything. A pass that has nothing to report ends as one whose object is gone.
func (r *Reporter) lifecycle(claim resource.Claim) []flow.Step[resource.Claim] {
	switch {
	case isFinished(claim):
		return []flow.Step[resource.Claim]{checkFinalizers}
	case claim.GetClassReference() != nil || claim.GetResourceReference() != nil:
		return []flow.Step[resource.Claim]{r.checkReferences, awaitFinalizers, r.removeFinalizer}
	case meta.WasDeleted(claim): // and it names nothing that a controller could serve
		return []flow.Step[resource.Claim]{awaitFinalizers, r.removeFinalizer}
	}
	return []flow.Step[resource.Claim]{r.checkClasses}
}

// isFinished is true for deleted claims that hold nothing.
func isFinished(claim resource.Claim) bool {
	return meta.WasDeleted(claim) && !meta.FinalizerExists(claim, meta.FinalizerClaim)
}

// checkFinalizers finds why a released claim that was ready is not deleted.
func checkFinalizers(_ context.Context, claim resource.Claim) flow.Outcome {
	if claim.GetCondition(xpv1.TypeReady).Status != corev1.ConditionTrue {
		return flow.Vanished()
	}
	return flow.Refuse(xpv1.ReasonDeleting, "The claim is released, and stays because of finalizers: %s. Check whether the programs that "+
		"own them run.", strings.Join(claim.GetFinalizers(), ", "))
}

// checkClasses finds why a claim gets no class.
func (r *Reporter) checkClasses(ctx context.Context, claim resource.Claim) flow.Outcome {
	class, err := choose(ctx, r.classes, r.live, claim)
	if none, ok := errors.AsType[*failure.Error](err); ok {
		return flow.RejectedAs(none.Reason, none)
	} else if err != nil {
		return r.unknown(claim, err)
	}
	return r.patient(claim, waiting(xpv1.ReasonBinding, fmt.Sprintf("The claim should get %s, but no controller assigns it. "+
		"Ask your platform team whether the provider of this class runs.", class)))
}

// checkReferences finds whether nothing serves what a claim names. A managed resource counts before a class, as in package
// claimbinding. A claim with that package's finalizer gets time, since its class may be served though no definition declares it, and
// nothing is reported while it is bound. If it names no managed resource, its deletion may finish: package claimbinding then reclaims
// what was created for it.
func (r *Reporter) checkReferences(_ context.Context, claim resource.Claim) flow.Outcome {
	field, what, ref, offers := "classRef", "classes", claim.GetClassReference(), r.classes.OffersClass
	reason, then := xpv1.ReasonClassNotFound, "Name another one, or ask your platform team to install the provider."
	mg := claim.GetResourceReference()
	if mg != nil {
		field, what, ref, offers = "resourceRef", "managed resources", mg, r.classes.OffersResource
		reason, then = xpv1.ReasonResourceNotFound, "Delete the claim and create it again with a managed resource, or with a class "+
			"(kubectl get classes), or ask your platform team to install the provider."
	}
	kind, begun, deleted := ref.GroupVersionKind().GroupKind(), meta.FinalizerExists(claim, meta.FinalizerClaim), meta.WasDeleted(claim)
	offered, err := offers(kind)
	switch {
	case err != nil && !begun:
		return r.unknown(claim, err)
	case err != nil, offered, begun && !deleted && claim.GetBindingPhase() == xpv1.BindingPhaseBound:
		return flow.Vanished() // its own controllers report
	case deleted && mg == nil:
		return r.patient(claim, flow.Next())
	case deleted:
		then = "Deletion finishes once your platform team has installed the provider again, or has removed the finalizer of the claim."
	}
	why := fmt.Sprintf("spec.%s names kind %s, and no provider has such %s for claims of this kind. ", field, kind, what)
	if !begun {
		return flow.Refuse(reason, "%s", why+then)
	}
	return r.patient(claim, waiting(reason, why+then))
}

// unknown is the outcome while not all classes are known. The cause is about the platform, and is logged.
func (r *Reporter) unknown(claim resource.Claim, cause error) flow.Outcome {
	r.log.V(1).Info("Cannot judge claims yet", "reason", cause.Error())
	return r.patient(claim, waiting(xpv1.ReasonNoMatchingClass, "The classes for the claim could not be listed yet. If this "+
		"lasts, ask your platform team, which can see the cause in the controllers' log."))
}

func waiting(reason xpv1.ConditionReason, message string) flow.Outcome {
	return flow.Outcome{End: flow.Wait, Reason: event.Reason(reason), Cause: reason, Message: message}
}

// patient is the outcome of a step once other controllers had time to act on the claim, from the first call on. One that was reported
// is reported still.
func (r *Reporter) patient(claim resource.Claim, o flow.Outcome) flow.Outcome {
	now := r.Now()
	since, _ := r.since.LoadOrStore(client.ObjectKeyFromObject(claim), now)
	if rest := since.(time.Time).Add(r.Patience).Sub(now); rest > 0 && !reported(claim, o) {
		return flow.Await(rest, "")
	}
	return o
}

// reported is true for a claim that shows the outcome, for its generation. Stalled and Reconciling do not count: another controller
// whose passes fail sets them too, and each write would enqueue the other without backoff.
func reported(claim resource.Claim, o flow.Outcome) bool {
	was := claim.GetCondition(xpv1.TypeReady)
	return o.Ready().WithObservedGeneration(claim.GetGeneration()).Equal(was) && claim.GetBindingPhase() != ""
}

// awaitFinalizers waits until ours is the last finalizer: package claimbinding reclaims what was created for the claim once that has
// gone (N37).
func awaitFinalizers(_ context.Context, claim resource.Claim) flow.Outcome {
	o := flow.AwaitFinalizers(claim, meta.FinalizerClaim)
	if o.End == flow.Wait {
		o.Reason = event.Reason(xpv1.ReasonDeleting)
	}
	return o
}

// removeFinalizer lets the deletion of the claim finish.
func (r *Reporter) removeFinalizer(ctx context.Context, claim resource.Claim) flow.Outcome {
	_, err := objects.Patch(ctx, r.client, claim, func(c resource.Claim) { meta.RemoveFinalizer(c, meta.FinalizerClaim) })
	return flow.Written("", client.IgnoreNotFound(err))
}

// settle is the only place that turns an outcome into conditions, an event and the time of the next pass. It reports outcomes with a
// reason. The write is guarded by the resource version, since other controllers may report on the claim by now.
func (r *Reporter) settle(ctx context.Context, claim resource.Claim, o flow.Outcome) (reconcile.Result, error) {
	if o.Reason != "" && reported(claim, o) {
		o = flow.Next()
	} else if o.Reason != "" {
		was, is := claim.GetCondition(xpv1.TypeReady), o.Ready()
		_, err := flow.Report(ctx, r.client, claim, func() {
			flow.Set(claim, is, was)
			flow.SetState(claim, o.State().WithMessage(is.Message), flow.States(claim))
			claim.SetBindingPhase(cmp.Or(claim.GetBindingPhase(), xpv1.BindingPhaseUnbound))
		})
		if err == nil && is.Reason != was.Reason && is.Reason != xpv1.ReasonDeleting {
			flow.Emit(ctx, r.Recorder, r.log, claim, event.Warning(event.Reason(is.Reason), errors.New(is.Message)))
		}
		o = flow.Written("", client.IgnoreNotFound(err))
	}
	if o.End == flow.Continue || o.End == flow.Gone {
		r.since.Delete(client.ObjectKeyFromObject(claim)) // what is found next gets time again
	}
	return o.Result(o.After)
}
