// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package target gives targets copies of the connection Secrets of managed resources.
//
//	return target.NewReconciler(mgr,
//		resource.TargetKind(workloadv1alpha1.KubernetesTargetGroupVersionKind),
//		resource.ManagedKind{}).SetupWithManager(mgr)
//
// A target is a request, and the managed resource decides: it allows a namespace if a claim of that namespace is bound to it, or if its
// annotation bowline.dev/allowed-namespaces lists the namespace (N27). The copy is controlled by the target (R302). On the source only
// the annotation that names the copy is written, and never the managed resource (R305). Package secret carries later changes of the
// source to the copy, and reverts edits of the copy (R298, R306).
//
// When consent is withdrawn, or the target is deleted, consent to all Secrets of the namespace is revoked on the source and then the
// copy is deleted, also where it was to be orphaned. Claims and other targets of the namespace get consent again. A managed resource
// that is lost leaves the copy as it is, and so does one that publishes anew without what only its creation returned.
//
// # One controller for all kinds
//
// With an empty managed kind, as above, one controller serves all managed kinds that are in the manager's scheme, and watches
// one as soon as a target names it. Each process that runs providers has one, which leaves the targets of other kinds to other processes.
// A controller for one kind that is put together by hand needs the predicate resource.HasManagedResourceReferenceKind; it watches targets
// only and reads everything else within the poll interval.
//
// # Access
//
// The manager's cache should have managed.CacheOptions, so that it holds connection Secrets only (N30). The controller needs the
// verbs get, list, watch and patch on targets, patch on their statuses, list on resources of applications, get, list and watch on the managed
// kinds, and get, list, watch, create, patch and delete on Secrets.
package target

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Finalizer keeps a target until its copy is deleted and consent to it revoked.
const Finalizer = "bowline.dev/target"

// LabelTargetUID on a copy is the UID of the target that it was created for.
const LabelTargetUID = copies.LabelTargetUID

// pollInterval is how often a target that waits is reconciled without an event.
const pollInterval = time.Minute

// A Reconciler connects targets to managed resources (R297).
type Reconciler struct {
	name   string // of the controller
	client client.Client
	live   client.Reader // not cached, for what must be certain
	scheme *runtime.Scheme

	targetKind  schema.GroupVersionKind
	managedKind schema.GroupVersionKind // empty for all of the scheme
	coreRuns    bool                    // elsewhere: another process serves targets of kinds that none knows

	recorder event.Recorder
	log      logr.Logger
	settler  *flow.TeamSettler

	copies  *copies.Copier
	needing watch.Needs
	watches watch.OnDemand
	refused *watch.Refused
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithRecorder sets where events are recorded. Default: the API server's events, source target/<controller name>.
func WithRecorder(er event.Recorder) Option { return func(r *Reconciler) { r.recorder = er } }

// WithCoreElsewhere is for processes without the core: the process of the core reports targets of kinds that do not exist. Default: this
// process reports them.
func WithCoreElsewhere() Option { return func(r *Reconciler) { r.coreRuns = true } }

// NewReconciler returns a reconciler for targets of the first kind that name a managed resource of the second (A68, R296). An
// empty managed kind stands for all that are in the manager's scheme. Both must be there with their lists; managed kinds must be
// cluster-scoped and satisfy resource.BindableManaged: the Secret of a namespaced one is in its namespace already.
func NewReconciler(mgr manager.Manager, of resource.TargetKind, with resource.ManagedKind, o ...Option) *Reconciler {
	name := ControllerName(with)
	r := &Reconciler{
		name:        name,
		client:      mgr.GetClient(),
		live:        mgr.GetAPIReader(),
		scheme:      mgr.GetScheme(),
		targetKind:  schema.GroupVersionKind(of),
		managedKind: schema.GroupVersionKind(with),
		recorder:    event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "target/"+name),
		log:         mgr.GetLogger().WithValues("controller", name),
		copies:      copies.New(mgr.GetClient(), mgr.GetAPIReader()),
		needing:     watch.Needs{Client: mgr.GetClient(), Kind: schema.GroupVersionKind(of), Index: name + "/needs"},
	}
	r.refused = watch.NewRefused(&r.needing, &r.watches)
	for _, apply := range o {
		apply(r)
	}
	r.settler = &flow.TeamSettler{Client: r.client, Recorder: r.recorder, Log: r.log, Poll: pollInterval, Pending: xpv1.ReasonConnecting}
	// Panic now where the scheme lacks a kind.
	_, _ = r.newTarget(), objects.MustNewList(r.scheme, r.targetKind)
	if !r.managedKind.Empty() {
		_ = r.newManaged(r.managedKind)
	}
	return r
}

// ControllerName returns the name of the controller of targets that name a managed kind, in lower case:
// kubernetestarget.<managed kind>.<group> (R14). That of the controller for all kinds is kubernetestarget.
func ControllerName(with resource.ManagedKind) string {
	if schema.GroupVersionKind(with).Empty() {
		return "kubernetestarget"
	}
	return "kubernetestarget." + strings.ToLower(schema.GroupVersionKind(with).GroupKind().String())
}

// Reconcile moves one target one pass closer to having its Secret, or to the end of its deletion.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	target := r.newTarget()
	if err := r.client.Get(ctx, req.NamespacedName, target); err != nil || !r.serves(target) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if meta.WasDeleted(target) && !meta.FinalizerExists(target, Finalizer) {
		return reconcile.Result{}, nil
	}
	if left, err := r.leaveFor(target); err != nil || left > 0 {
		return reconcile.Result{RequeueAfter: left}, err
	}
	p := &pass{target: target}
	return r.settle(ctx, p, flow.Run(ctx, p, r.lifecycle(target)...))
}

// lifecycle is the order of everything. Read it first.
func (r *Reconciler) lifecycle(target resource.Target) []flow.Step[*pass] {
	if meta.WasDeleted(target) {
		return []flow.Step[*pass]{r.awaitWorkloads, r.deleteCopies, r.removeFinalizer}
	}
	return []flow.Step[*pass]{r.find, r.checkConsent, r.checkSource, r.prepare, r.copySecret}
}

// deletionPatience is how long the deletion of a target waits for the process that serves its kind.
const deletionPatience = time.Minute

// leaveFor returns how long this process leaves a target to another one, which serves the kind of its managed resource: 0 for a target that it
// serves itself. The process of the core finishes deletions that no other process does.
func (r *Reconciler) leaveFor(target resource.Target) (time.Duration, error) {
	ref := target.GetResourceReference()
	if _, known := r.kindOf(ref); known || r.refuses(ref) {
		return 0, nil
	}
	if r.coreRuns {
		return pollInterval, nil
	}
	_, err := r.client.RESTMapper().RESTMappings(ref.GroupVersionKind().GroupKind())
	switch {
	case apimeta.IsNoMatchError(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("looking for the kind of the managed resource: %w", err)
	case meta.WasDeleted(target):
		return deletionPatience - time.Since(target.GetDeletionTimestamp().Time), nil
	}
	return pollInterval, nil
}

// refuses is true for a kind that this process knows, and to which no target can connect.
func (r *Reconciler) refuses(ref *corev1.ObjectReference) bool {
	for _, version := range r.scheme.VersionsForGroupKind(ref.GroupVersionKind().GroupKind()) {
		o, err := r.scheme.New(version.WithKind(ref.Kind))
		if _, managed := o.(resource.Managed); err == nil && (managed || !r.coreRuns) {
			return true
		}
	}
	return false
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

// newManaged returns an empty managed resource of a managed kind.
func (r *Reconciler) newManaged(kind schema.GroupVersionKind) resource.BindableManaged {
	return objects.MustNew[resource.BindableManaged](r.scheme, kind)
}

// A pass is what the steps of one pass learn. Objects are carried forward as the API server returned them from the last write,
// since the cache may be behind.
type pass struct {
	target  resource.Target
	managed resource.BindableManaged
	flow.TeamReport
}

// settle is the only place that turns an outcome into conditions, events, a status write and the time of the next pass.
func (r *Reconciler) settle(ctx context.Context, p *pass, o flow.Outcome) (reconcile.Result, error) {
	result, err := r.settler.Settle(ctx, p.target, p.TeamReport, o)
	if o.End == flow.Continue && result.IsZero() && !r.watches.Begun() {
		result.RequeueAfter = pollInterval
	}
	return result, err
}

// fail ends a pass with an error of the API server. The team reads the activity only.
func fail(activity string, err error) flow.Outcome {
	return flow.FailedTo(activity, ReasonCannotConnect, err)
}

// concurrency is how many targets are reconciled at the same time: they wait for the API server only.
const concurrency = 8

// SetupWithManager adds a controller to the manager, by the name that ControllerName returns. It watches targets, connection
// Secrets and the managed resources of each kind that a target names. A controller that is put together by hand without these watches
// reconciles within the poll interval.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), r.newTarget(), r.needing.Index, r.needs); err != nil {
		return fmt.Errorf("indexing targets: %w", err)
	}
	mine := resource.NewPredicates(func(o runtime.Object) bool {
		target, ok := o.(resource.Target)
		return ok && r.serves(target)
	})
	return r.watches.Build(mgr, builder.ControllerManagedBy(mgr).
		Named(r.name).
		For(r.newTarget(), builder.WithPredicates(mine)).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.needing.OnSecret)).
		WatchesRawSource(r.refused.Source(mgr)).
		WithOptions(queue.Options(mgr, r.name, concurrency, flow.ConflictDelay, time.Minute)), r)
}

// needs returns the managed resource and the Secret that a target names.
func (r *Reconciler) needs(o client.Object) []string {
	target, ok := o.(resource.Target)
	if !ok || !r.serves(target) {
		return nil
	}
	ref := target.GetResourceReference()
	names := []string{watch.Need(ref.GroupVersionKind().GroupKind(), ref.Name)}
	if to := target.GetWriteConnectionSecretToReference(); to != nil {
		names = append(names, watch.Need(watch.SecretKind, to.Name))
	}
	return names
}

// watchManaged watches managed resources of a kind, from the first target that names one.
func (r *Reconciler) watchManaged(kind schema.GroupVersionKind) error {
	return r.watches.Watch(kind, r.newManaged(kind), r.needing.Enqueue(kind.GroupKind()))
}

// Reasons of events. Targets that are refused have events of the reason of their condition Ready, too.
const (
	ReasonConnected     event.Reason = "Connected"                // the target has its Secret
	ReasonWithdrawn     event.Reason = "WithdrewConnectionSecret" // the Secret was deleted, since the managed resource no longer allows it
	ReasonDetailsLost   event.Reason = "ConnectionDetailsLost"    // the connection Secret of the managed resource lost keys
	ReasonCannotConnect event.Reason = "CannotConnectTarget"      // a pass failed and is retried
)

// Reasons returns an explanation of every reason that targets show in condition Ready or in events: those first that keep a target
// from being ready.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(xpv1.ReasonNotAllowed), "The managed resource does not permit the target's namespace.",
			"Name another managed resource, or ask your platform team to list your namespace in its annotation "+
				"bowline.dev/allowed-namespaces."),
		event.Explain(event.Reason(xpv1.ReasonConnecting),
			"The connection Secret cannot be copied yet: the managed resource or its Secret is missing.",
			"Read the message. Reconciliation resumes automatically."),
		event.Explain(event.Reason(xpv1.ReasonResourceLost), "The managed resource that the target was connected to does not exist any more.",
			"Delete the target, or ask your platform team whether the managed resource is created again."),
		event.Explain(event.Reason(failure.ConnectionSecretUnavailable), "The copy cannot be created: another Secret has its name, or a "+
			"quota is used up.", "Read the message. Reconciliation resumes automatically."),
		event.Explain(ReasonCannotConnect, "A pass over the target failed and is retried. If a target was ready, Ready is Unknown meanwhile.",
			"Usually nothing. If it lasts, ask your platform team to check the log of the controllers."),
		event.Explain(ReasonDetailsLost,
			"The connection Secret of the managed resource lost keys. Ready is False if the target's Secret lacks them too.",
			"Read the message: it names the keys."),
		event.Explain(ReasonConnected, "The target has its Secret.", ""),
		event.Explain(ReasonWithdrawn, "The managed resource no longer permits the namespace, and the target's Secret was deleted.",
			"If you still need it, ask your platform team."),
	}
}
