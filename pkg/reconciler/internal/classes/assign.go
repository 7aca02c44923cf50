// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package classes

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	// ReasonClassSelected is the reason of the event that names the class that a claim got.
	ReasonClassSelected event.Reason = "ClassSelected"

	// ConflictDelay is when to look again after somebody wrote first: by then the cache has what they wrote.
	ConflictDelay = 100 * time.Millisecond

	defaultPollInterval = 10 * time.Second
	unknownDelay        = time.Second
	concurrency         = 8 // claims that get a class at the same time
)

// An Assigner gives claims that have no class the one that they get, if that is of its kind.
type Assigner struct {
	// Recorder records that a claim got a class. Default: the API server's events, source <package>/<controller name>.
	Recorder event.Recorder
	// Log is where troubles go that no claim is to blame for. Default: the manager's.
	Log logr.Logger
	// PollInterval is how often claims that get no class yet are looked at by a controller without Wakeups. Default: 10 seconds.
	PollInterval time.Duration

	name    string
	client  client.Client
	claims  schema.GroupVersionKind
	class   schema.GroupVersionKind
	takes   resource.PredicateFn
	classes *Classes
	woken   atomic.Bool // claims come back when classes change
}

// A Role is what tells schedulers and defaulters apart.
type Role struct {
	Package string               // such as claimscheduling
	Prefix  string               // of the names of its controllers
	Takes   resource.PredicateFn // whether a claim without class and resource is one of those that it serves
}

// NewAssigner returns an Assigner for claims and classes of kinds in the manager's scheme.
func (r Role) NewAssigner(mgr manager.Manager, claims resource.ClaimKind, class resource.ClassKind) *Assigner {
	name := ControllerName(r.Prefix, claims, class)
	_ = objects.MustNew[resource.Claim](mgr.GetScheme(), schema.GroupVersionKind(claims)) // to be seen at once
	return &Assigner{
		Recorder:     event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), r.Package+"/"+name),
		Log:          mgr.GetLogger().WithValues("controller", name),
		PollInterval: defaultPollInterval,
		name:         name,
		client:       mgr.GetClient(),
		claims:       schema.GroupVersionKind(claims),
		class:        schema.GroupVersionKind(class),
		takes:        resource.AllOf(r.Takes, resource.HasNoClassReference(), resource.HasNoManagedResourceReference()),
		classes:      For(mgr, claims, class),
	}
}

// Reconcile gives a claim its class.
func (a *Assigner) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := objects.MustNew[resource.Claim](a.client.Scheme(), a.claims)
	if err := a.client.Get(ctx, req.NamespacedName, claim); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !a.serves(claim) {
		return reconcile.Result{}, nil
	}
	class, err := a.classes.Choose(ctx, claim)
	if _, unread := errors.AsType[*unreadError](err); unread {
		return reconcile.Result{}, err
	}
	if err != nil || class.Kind.GroupKind() != a.class.GroupKind() {
		return a.later(err), nil // the core controller tells why (N10), or another kind's gives the class
	}
	if err := a.assign(ctx, claim, class); apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: ConflictDelay}, nil // somebody wrote first, perhaps a class (R17, R242)
	} else if err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	done := event.Normal(ReasonClassSelected, "The claim gets "+class.String())
	if err := a.Recorder.Event(ctx, claim, done); err != nil {
		a.Log.Info("Cannot record event", "object", req.NamespacedName, "reason", done.Reason, "error", err.Error())
	}
	return reconcile.Result{}, nil
}

// serves is true for claims that wait for a class (R235, R244, R247, R253).
func (a *Assigner) serves(claim resource.Claim) bool {
	return !meta.WasDeleted(claim) && a.takes(claim)
}

// assign writes the class into the claim, unless somebody wrote to the claim since it was read.
func (a *Assigner) assign(ctx context.Context, claim resource.Claim, class Class) error {
	before := claim.DeepCopyObject().(client.Object)
	apiVersion, kind := a.class.ToAPIVersionAndKind()
	claim.SetClassReference(&corev1.ObjectReference{APIVersion: apiVersion, Kind: kind, Name: class.Name})
	err := a.client.Patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return fmt.Errorf("writing the class of the claim: %w", err)
	}
	return nil
}

// later is when to look again at a claim that gets no class now: soon if that is only because not all classes are known yet.
func (a *Assigner) later(why error) reconcile.Result {
	if a.woken.Load() {
		return reconcile.Result{}
	}
	if _, settled := errors.AsType[*NoChoiceError](why); why != nil && !settled {
		return reconcile.Result{RequeueAfter: min(unknownDelay, a.PollInterval)}
	}
	return reconcile.Result{RequeueAfter: a.PollInterval}
}

// Wakeups brings claims back that wait for a class when classes change.
func (a *Assigner) Wakeups() source.Source {
	wakeups := a.classes.Wakeups(a.serves)
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		a.woken.Store(true)
		return wakeups.Start(ctx, queue)
	})
}

// SetupWithManager adds the controller, r being what embeds the Assigner.
func (a *Assigner) SetupWithManager(mgr manager.Manager, r reconcile.Reconciler) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(a.name).
		For(objects.MustNew[client.Object](mgr.GetScheme(), a.claims), builder.WithPredicates(resource.NewPredicates(a.takes))).
		WatchesRawSource(a.Wakeups()).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, NewQueue: queue.Of(mgr)}).
		Complete(r)
}
