// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Finalizer keeps a target until its copy is deleted and consent to it revoked.
const Finalizer = "bowline.dev/target"

// LabelTargetUID on a copy is the UID of the target that it was created for.
const LabelTargetUID = copies.LabelTargetUID

const (
	// name begins the names of all controllers of targets.
	name = "kubernetestarget"

	defaultPollInterval = time.Minute
)

// A Reconciler connects targets to managed resources (R297).
type Reconciler struct {
	client client.Client
	live   client.Reader // not cached, for what must be certain
	mapper apimeta.RESTMapper
	scheme *runtime.Scheme

	targetKind  schema.GroupVersionKind
	managedKind schema.GroupVersionKind // empty for all of the scheme

	recorder event.Recorder
	log      logr.Logger
	poll     time.Duration

	copies  *copies.Copier
	watches watch.OnDemand
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithPollInterval sets how often a target that waits is reconciled without an event. Default: 1 minute.
func WithPollInterval(d time.Duration) Option {
	return func(r *Reconciler) { r.poll = d }
}

// WithRecorder sets where events are recorded. Default: the API server's events, source target/<controller name>.
func WithRecorder(er event.Recorder) Option {
	return func(r *Reconciler) { r.recorder = er }
}

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) Option {
	return func(r *Reconciler) { r.log = l }
}

// NewReconciler returns a reconciler for targets of the first kind that name a managed resource of the second (A68, R296). An
// empty managed kind stands for all that are in the manager's scheme. Both must be there with their lists; managed kinds must be
// cluster-scoped and satisfy resource.BindableManaged: the Secret of a namespaced one is in its namespace already.
func NewReconciler(mgr manager.Manager, of resource.TargetKind, with resource.ManagedKind, o ...Option) *Reconciler {
	controller := ControllerName(with)
	r := &Reconciler{
		client:      mgr.GetClient(),
		live:        mgr.GetAPIReader(),
		mapper:      mgr.GetRESTMapper(),
		scheme:      mgr.GetScheme(),
		targetKind:  schema.GroupVersionKind(of),
		managedKind: schema.GroupVersionKind(with),
		recorder:    event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "target/"+controller),
		log:         mgr.GetLogger().WithValues("controller", controller),
		poll:        defaultPollInterval,
		copies:      copies.New(mgr.GetClient(), mgr.GetAPIReader()),
	}
	for _, apply := range o {
		apply(r)
	}
	// Panic now where the scheme lacks a kind.
	_, _ = r.newTarget(), r.newTargetList()
	if !r.managedKind.Empty() {
		_ = r.newManaged(r.managedKind)
	}
	return r
}

// ControllerName returns the name of the controller of targets that name a managed kind, in lower case:
// kubernetestarget.<managed kind>.<group> (R14). That of the controller for all kinds is kubernetestarget.
func ControllerName(with resource.ManagedKind) string {
	if schema.GroupVersionKind(with).Empty() {
		return name
	}
	return strings.ToLower(name + "." + schema.GroupVersionKind(with).GroupKind().String())
}

// Reconcile moves one target one pass closer to having its Secret, or to the end of its deletion.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	target := r.newTarget()
	if err := r.client.Get(ctx, req.NamespacedName, target); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("reading the target: %w", err)
	}
	if !r.serves(target) {
		return reconcile.Result{}, nil
	}
	p := &pass{target: target}
	return r.settle(ctx, p, flow.Run(ctx, p, r.lifecycle(target)...))
}

// lifecycle is the order of everything. Read it first; each step lives in the file of its name.
func (r *Reconciler) lifecycle(target resource.Target) []step {
	if meta.WasDeleted(target) {
		return []step{r.checkFinalizer, r.deleteCopies, r.removeFinalizer}
	}
	return []step{r.find, r.checkConsent, r.checkSource, r.prepare, r.copySecret}
}

// serves is true for targets of this controller (R296, R300). The version of the managed kind does not count, since kinds get new
// ones and targets keep their references.
func (r *Reconciler) serves(target resource.Target) bool {
	ref := target.GetResourceReference()
	return ref != nil && (r.managedKind.Empty() || ref.GroupVersionKind().GroupKind() == r.managedKind.GroupKind())
}

func (r *Reconciler) newTarget() resource.Target {
	return objects.MustNew[resource.Target](r.scheme, r.targetKind)
}

func (r *Reconciler) newTargetList() resource.TargetList {
	return objects.MustNewList[resource.TargetList](r.scheme, r.targetKind)
}

// newManaged returns an empty managed resource of a managed kind.
func (r *Reconciler) newManaged(kind schema.GroupVersionKind) resource.BindableManaged {
	return objects.MustNew[resource.BindableManaged](r.scheme, kind)
}
