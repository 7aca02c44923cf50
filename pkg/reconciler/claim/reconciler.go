// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/reconciler/internal/classes"
	"github.com/bowline-dev/bowline/pkg/resource"
)

const (
	defaultPatience = 30 * time.Second
	concurrency     = 8 // claims that are judged at the same time
)

// A Reconciler says on claims of one kind why they get nothing.
type Reconciler struct {
	client   client.Client
	kind     schema.GroupVersionKind
	classes  *classes.Classes
	recorder event.Recorder
	log      logr.Logger
	patience time.Duration
	now      func() time.Time

	mu    sync.Mutex
	since map[types.NamespacedName]time.Time // when claims were first found to wait for others to act
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithPatience sets how long others get to act on a claim, or the classes to become known, before the claim says that it waits
// for that. Default: 30 seconds.
func WithPatience(d time.Duration) Option {
	return func(r *Reconciler) { r.patience = d }
}

// WithRecorder sets who records events. Default: the API server's events, source claim/<controller name>.
func WithRecorder(er event.Recorder) Option {
	return func(r *Reconciler) { r.recorder = er }
}

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) Option {
	return func(r *Reconciler) { r.log = l }
}

// WithClock sets where the time comes from. Default: time.Now.
func WithClock(now func() time.Time) Option {
	return func(r *Reconciler) { r.now = now }
}

// NewReconciler returns a reconciler for claims of a kind in the manager's scheme.
func NewReconciler(mgr manager.Manager, of resource.ClaimKind, o ...Option) *Reconciler {
	name := ControllerName(of)
	_ = objects.MustNew[resource.Claim](mgr.GetScheme(), schema.GroupVersionKind(of)) // to be seen at once
	r := &Reconciler{
		client:   mgr.GetClient(),
		kind:     schema.GroupVersionKind(of),
		classes:  classes.For(mgr, of),
		recorder: event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "claim/"+name),
		log:      mgr.GetLogger().WithValues("controller", name),
		patience: defaultPatience,
		now:      time.Now,
		since:    map[types.NamespacedName]time.Time{},
	}
	for _, apply := range o {
		apply(r)
	}
	return r
}

// ControllerName returns the name of the controller of a claim kind: claim.<kind>.<group> in lower case.
func ControllerName(of resource.ClaimKind) string {
	return strings.ToLower("claim." + schema.GroupVersionKind(of).GroupKind().String())
}

// SetupWithManager adds a controller to the manager that watches claims and the classes for them. Its name is ControllerName.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(ControllerName(resource.ClaimKind(r.kind))).
		For(objects.MustNew[client.Object](mgr.GetScheme(), r.kind)).
		WatchesRawSource(r.classes.Wakeups(func(c resource.Claim) bool { return !left(c) })).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, NewQueue: queue.Of(mgr)}).
		Complete(r)
}

// CacheDefinitions has a manager's cache hold no more of custom resource definitions than the controllers of claims need: of
// those that define classes, which claims they are for. Without it the metadata of all definitions are held.
func CacheDefinitions(o *cache.Options) { classes.CacheDefinitions(o) }

// Reconcile says on a claim why it gets nothing, if that is so.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := objects.MustNew[resource.Claim](r.client.Scheme(), r.kind)
	if err := r.client.Get(ctx, req.NamespacedName, claim); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return r.settle(ctx, claim, r.judge(ctx, claim))
}

// rest returns how much patience is left with what others are to do for a claim.
func (r *Reconciler) rest(claim types.NamespacedName) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.since[claim]; !ok {
		r.since[claim] = r.now()
	}
	return r.since[claim].Add(r.patience).Sub(r.now())
}

func (r *Reconciler) forget(claim types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, claim)
}
