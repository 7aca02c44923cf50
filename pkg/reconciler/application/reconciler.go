// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package application gives KubernetesApplications a target, and a KubernetesApplicationResource for each of their templates.
//
//	return application.NewReconciler(mgr, secrets).SetupWithManager(mgr)
//
// The target is chosen once and stored in spec.targetRef (schedule). Package applicationresource does the rest; the status here sums it up.
//
// # Access
//
// The controller needs get, list, watch and patch on applications, patch on their statuses, get, list, watch, create, patch and delete on
// resources, and get, list and watch on targets.
package application

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// Finalizer keeps an application until its resources are deleted.
const Finalizer = "bowline.dev/application"

// ControllerName is the name of the controller.
const ControllerName = "kubernetesapplication"

const (
	pollInterval = time.Minute // of an application that waits
	concurrency  = 8
	indexOwner   = ControllerName + "/owner" // of resources, by the UID of their application
)

// A Reconciler schedules applications and writes their resources (K80).
type Reconciler struct {
	client   client.Client
	live     client.Reader // not cached, for what must be certain
	secrets  clusters.SecretReader
	recorder event.Recorder
	log      logr.Logger
	settler  *flow.TeamSettler
	isCached bool // the client has the index
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithRecorder sets where events are recorded. Default: the API server's events.
func WithRecorder(er event.Recorder) Option { return func(r *Reconciler) { r.recorder = er } }

// NewReconciler returns a reconciler of applications, which reads the Secrets of targets with secrets.
func NewReconciler(mgr manager.Manager, secrets clusters.SecretReader, o ...Option) *Reconciler {
	r := &Reconciler{
		secrets: secrets, client: mgr.GetClient(), live: mgr.GetAPIReader(), recorder: event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), ControllerName),
		log: mgr.GetLogger().WithValues("controller", ControllerName),
	}
	for _, apply := range o {
		apply(r)
	}
	r.settler = &flow.TeamSettler{Client: r.client, Recorder: r.recorder, Log: r.log, Poll: pollInterval, Pending: ReasonSubmitting}
	return r
}

// Reconcile moves one application one pass closer to all of its objects being in a cluster, or to the end of its deletion.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	app := &workloadv1alpha1.KubernetesApplication{}
	if err := r.client.Get(ctx, req.NamespacedName, app); err != nil || meta.WasDeleted(app) && !meta.FinalizerExists(app, Finalizer) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	p := &pass{app: app}
	o := flow.Run(ctx, p, r.lifecycle(app)...)
	p.SetStatus = func() { p.report(o) }
	return r.settler.Settle(ctx, p.app, p.TeamReport, o)
}

// lifecycle is the order of everything. Read it first.
func (r *Reconciler) lifecycle(app *workloadv1alpha1.KubernetesApplication) []flow.Step[*pass] {
	if meta.WasDeleted(app) {
		return []flow.Step[*pass]{r.checkPaused, r.awaitFinalizers, r.readResources, r.deleteResources, r.removeFinalizer}
	}
	return []flow.Step[*pass]{r.checkPaused, r.readResources, r.checkTemplates, r.schedule, r.writeResources, r.pruneResources, r.checkResources}
}

// A pass is what the steps of one pass learn. Objects are carried forward as the API server returned them from the last write.
type pass struct {
	app       *workloadv1alpha1.KubernetesApplication
	resources []*workloadv1alpha1.KubernetesApplicationResource // that exist
	flow.TeamReport
}

// fail ends a pass with an error of the API server. The team reads the activity only.
func fail(activity string, err error) flow.Outcome {
	return flow.FailedTo(activity, ReasonCannotReconcile, err)
}

func (r *Reconciler) checkPaused(_ context.Context, p *pass) flow.Outcome {
	if !meta.IsPaused(p.app) {
		return flow.Next()
	}
	return flow.Paused(ReasonPaused, "Paused because the annotation "+meta.AnnotationKeyReconciliationPaused+" is true. Remove it to resume.")
}

func (r *Reconciler) awaitFinalizers(_ context.Context, p *pass) flow.Outcome {
	return flow.AwaitFinalizers(p.app, Finalizer)
}

// removeFinalizer lets the deletion of the application finish.
func (r *Reconciler) removeFinalizer(ctx context.Context, p *pass) flow.Outcome {
	_, err := objects.Patch(ctx, r.client, p.app, func(app *workloadv1alpha1.KubernetesApplication) { meta.RemoveFinalizer(app, Finalizer) })
	if client.IgnoreNotFound(err) != nil {
		return fail("removing the finalizer", err)
	}
	return flow.Vanished()
}

// report sets the fields of the status other than the conditions.
func (p *pass) report(o flow.Outcome) {
	s, failed := &p.app.Status, o.End == flow.Reject || o.End == flow.Stop
	s.DesiredResources, s.SubmittedResources = len(p.app.Spec.ResourceTemplates), 0
	wanted := p.wanted()
	for _, resource := range p.resources {
		if _, is := wanted[resource.Name]; !is {
			continue
		}
		failed = failed || resource.Status.State == workloadv1alpha1.ResourceFailed
		if resource.Status.State == workloadv1alpha1.ResourceSubmitted && resource.Status.AppliedGeneration == resource.Generation {
			s.SubmittedResources++
		}
	}
	switch {
	case failed && xpv1.ConditionReason(o.Reason) != ReasonNoMatchingTarget:
		s.State = workloadv1alpha1.ApplicationFailed
	case p.app.Spec.TargetReference == nil:
		s.State = workloadv1alpha1.ApplicationPending
	case s.SubmittedResources == s.DesiredResources:
		s.State = workloadv1alpha1.ApplicationSubmitted
	case s.SubmittedResources > 0:
		s.State = workloadv1alpha1.ApplicationPartiallySubmitted
	default:
		s.State = workloadv1alpha1.ApplicationScheduled
	}
}

// SetupWithManager adds the controller, which watches applications, their resources, and targets.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	resources := &workloadv1alpha1.KubernetesApplicationResource{}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), resources, indexOwner, owner); err != nil {
		return fmt.Errorf("indexing resources of applications: %w", err)
	}
	r.isCached = true
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		For(&workloadv1alpha1.KubernetesApplication{}).
		Owns(resources).
		Watches(&workloadv1alpha1.KubernetesTarget{}, handler.EnqueueRequestsFromMapFunc(r.onTarget)).
		WithOptions(queue.Options(mgr, ControllerName, concurrency, flow.ConflictDelay, pollInterval)).
		Complete(r)
}

func owner(o client.Object) []string {
	if of := metav1.GetControllerOf(o); of != nil && of.Kind == workloadv1alpha1.KubernetesApplicationKind {
		return []string{string(of.UID)}
	}
	return nil
}

// onTarget returns requests for the applications that a change of a target may concern: those on it, and those without one.
func (r *Reconciler) onTarget(ctx context.Context, target client.Object) (requests []reconcile.Request) {
	all := &workloadv1alpha1.KubernetesApplicationList{}
	if err := r.client.List(ctx, all, client.InNamespace(target.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		r.log.Error(err, "Cannot list applications", "namespace", target.GetNamespace())
	}
	for _, app := range all.Items {
		if ref := app.Spec.TargetReference; ref == nil || ref.Name == target.GetName() || app.GetCondition(xpv1.TypeReady).Reason == ReasonNoMatchingTarget {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&app)})
		}
	}
	return requests
}

// Reasons of condition Ready, and of events about it.
const (
	ReasonNoMatchingTarget  xpv1.ConditionReason = "NoMatchingTarget"  // no target can be chosen
	ReasonInvalidTemplates  xpv1.ConditionReason = "InvalidTemplates"  // templates contradict the selector, or each other
	ReasonResourceTaken     xpv1.ConditionReason = "ResourceTaken"     // a resource of that name belongs to somebody else
	ReasonSubmitting        xpv1.ConditionReason = "Submitting"        // not all objects are in the cluster and ready
	ReasonResourcesNotReady xpv1.ConditionReason = "ResourcesNotReady" // some objects cannot be applied until something is corrected
)

// Reasons of events only.
const (
	ReasonScheduled       event.Reason = "Scheduled"
	ReasonCannotReconcile event.Reason = "CannotReconcileApplication"
	ReasonPaused          event.Reason = "ReconcilePaused"
)

// Reasons returns an explanation of every reason: those first that keep an application from being ready.
func Reasons() []event.Explanation {
	explain := func(r xpv1.ConditionReason, meaning, action string) event.Explanation {
		return event.Explain(event.Reason(r), meaning, action)
	}
	return []event.Explanation{
		explain(ReasonNoMatchingTarget, "No target of the namespace is ready and has the labels asked for, or the target that was named is gone.",
			"Read the message: create a target, correct spec.targetSelector, or wait until one is ready."),
		explain(ReasonInvalidTemplates, "The labels of a template do not match spec.resourceSelector.", "Correct the template that the message names."),
		explain(ReasonResourceTaken, "A KubernetesApplicationResource has the name of a template, and belongs to somebody else.", "Give the template another name."),
		explain(ReasonSubmitting, "Not all objects are in the cluster and ready yet.", "Usually nothing. If it lasts, read the message: it names resources."),
		explain(ReasonResourcesNotReady, "Some objects cannot be applied, or failed in the cluster, until something is corrected.", "Read the message, and the conditions of the resources that it names."),
		event.Explain(ReasonScheduled, "A target was chosen.", ""),
		event.Explain(ReasonCannotReconcile, "A pass over the application failed and is retried.", "Usually nothing. If it lasts, ask your platform team to check the log of the controllers."),
	}
}
