// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package applicationresource keeps objects in the clusters of targets as KubernetesApplicationResources declare them.
//
//	return applicationresource.NewReconciler(mgr, secrets).SetupWithManager(mgr)
//
// An object is applied on the server's side, with an owner of fields of its own (owner), and watched in its cluster: what is changed there
// is changed back. An object that exists already is only taken over with permission (own). Copies of Secrets go before the object, and
// objects that it needs, namespaces and definitions, before both (prerequisites).
//
// Nothing is created before it is in status.inventory, and nothing leaves that list before it is known to be gone. So wherever a process
// is killed, the next one knows what may be where, also after the object got another name, or another target.
//
// # Access
//
// The controller needs get, list, watch and patch on resources, patch on their statuses, get, list and watch on applications, targets and
// Secrets, and get on namespaces.
// In a cluster it has the rights of the target's kubeconfig: get, list, watch, create, patch and delete on what applications consist of.
package applicationresource

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/clients/clusters"
	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/turns"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// Finalizer keeps a resource until its objects are deleted from all clusters.
const Finalizer = "bowline.dev/application-resource"

// ControllerName is the name of the controller.
const ControllerName = "kubernetesapplicationresource"

// mostPasses is how many passes over resources of one target may run at a time, so that a cluster that does not answer leaves workers to others.
const mostPasses = 8

// passTimeout bounds a pass: each call of a cluster may take ten seconds.
const passTimeout = time.Minute

// readInterval is how often a settled resource is reconciled without an event, which asks no cluster: what reads Secrets watches them for
// two hours after the last time.
const readInterval = time.Hour

// pollInterval is how often a resource that waits is reconciled without an event.
const pollInterval = time.Minute

// A Reconciler keeps objects in clusters as declared (K80).
type Reconciler struct {
	client   client.Client
	live     client.Reader // not cached, for what must be certain
	recorder event.Recorder
	log      logr.Logger
	settler  *flow.TeamSettler

	secrets  Secrets
	clusters *clusters.Clusters
	memories sync.Map // *memory by the name of the resource
	fence    fence.Fence
	queue    wakeups
	turns    *turns.Turns
	isCached bool // the client has the index
}

// Secrets reads Secrets and reports changes of those that it read: *credentials.Secrets does.
type Secrets interface {
	clusters.SecretReader
	OnChange(callback func(secret types.NamespacedName))
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler, *clusters.Hooks)

// WithRecorder sets where events are recorded. Default: the API server's events.
func WithRecorder(er event.Recorder) Option {
	return func(r *Reconciler, _ *clusters.Hooks) { r.recorder = er }
}

// WithFence sets what is checked before each call that changes a cluster, such as whether this process still holds its lease (N87). Default:
// nothing.
func WithFence(f fence.Fence) Option { return func(r *Reconciler, _ *clusters.Hooks) { r.fence = f } }

// WithHooks changes how clusters are called, for tests.
func WithHooks(change func(*clusters.Hooks)) Option {
	return func(_ *Reconciler, h *clusters.Hooks) { change(h) }
}

// NewReconciler returns a reconciler that reads the Secrets of targets, and those that resources name, with secrets.
func NewReconciler(mgr manager.Manager, secrets Secrets, o ...Option) *Reconciler {
	r := &Reconciler{
		client: mgr.GetClient(), live: mgr.GetAPIReader(), secrets: secrets,
		recorder: event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), ControllerName), fence: func() error { return nil },
		log: mgr.GetLogger().WithValues("controller", ControllerName),
	}
	r.turns = turns.New(mostPasses, r.queue.add)
	hooks := clusters.Hooks{Changed: r.queue.addLimited, Reachable: r.wakeTarget}
	for _, apply := range o {
		apply(r, &hooks)
	}
	r.clusters = clusters.New(secrets, r.log, hooks)
	r.settler = &flow.TeamSettler{Client: r.client, Recorder: r.recorder, Log: r.log, Poll: pollInterval, Pending: ReasonProgressing}
	return r
}

// Close ends all watches in clusters. SetupWithManager has the manager call it.
func (r *Reconciler) Close() { r.clusters.Stop() }

// Reconcile moves one resource one pass closer to its object being as declared, or to the end of its deletion.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	resource := &workloadv1alpha1.KubernetesApplicationResource{}
	err := r.client.Get(ctx, req.NamespacedName, resource)
	if err != nil || meta.WasDeleted(resource) && !meta.FinalizerExists(resource, Finalizer) {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	target := targetFor(resource)
	if !r.turns.Take(target, req.NamespacedName) {
		return reconcile.Result{}, nil // it is enqueued when it is its turn
	}
	defer r.turns.End(target)
	limited, cancel := context.WithTimeout(fence.With(ctx, r.fence), passTimeout)
	defer cancel()
	p := &pass{resource: resource, memory: r.memoryOf(resource), leases: map[string]*clusters.Lease{}}
	defer p.release()
	o := flow.Run(limited, p, r.lifecycle(resource)...)
	r.unsubscribe(p)
	p.SetStatus = func() { p.report(o) }
	result, err := r.settler.Settle(ctx, p.resource, p.TeamReport, o)
	if result.IsZero() && err == nil && o.End == flow.Continue {
		result.RequeueAfter = readInterval
	}
	return result, err
}

// targetFor is the target whose turn a pass takes.
func targetFor(resource *workloadv1alpha1.KubernetesApplicationResource) types.NamespacedName {
	name := types.NamespacedName{Namespace: resource.Namespace}
	switch ref := resource.Spec.TargetReference; {
	case ref != nil && !meta.WasDeleted(resource):
		name.Name = ref.Name
	case len(resource.Status.Inventory) > 0:
		name.Name = resource.Status.Inventory[0].Target
	}
	return name
}

// lifecycle is the order of everything. Read it first.
func (r *Reconciler) lifecycle(of *workloadv1alpha1.KubernetesApplicationResource) []flow.Step[*pass] {
	if meta.WasDeleted(of) {
		return []flow.Step[*pass]{r.checkPaused, r.awaitFinalizers, r.readMark, r.deleteAll, r.removeFinalizer}
	}
	return []flow.Step[*pass]{
		r.checkPaused, r.findTarget, r.connect, r.readTemplate, r.checkBounds, r.awaitPrerequisites, r.findObject, r.watchObject, r.readMark, r.readSecrets,
		r.recordIntent, r.copySecrets, r.observe, r.own, r.apply, r.checkReady, r.prune,
	}
}

// A pass is what the steps of one pass learn. Objects are carried forward as the API server returned them from the last write.
type pass struct {
	resource *workloadv1alpha1.KubernetesApplicationResource
	memory   *memory

	target   *workloadv1alpha1.KubernetesTarget
	cluster  *clusters.Lease            // of the target
	leases   map[string]*clusters.Lease // of all targets in the inventory that were looked at, by name
	desired  *unstructured.Unstructured // the template
	object   clusters.Object            // that it describes
	secrets  []*corev1.Secret           // to copy
	copyMark string                     // on copies for this namespace
	live     *unstructured.Unstructured // the object in the cluster; nil: there is none

	inventory []workloadv1alpha1.RemoteObject         // at the end of the pass; nil: as it was
	objects   map[*clusters.Cluster][]clusters.Object // that the pass subscribed to
	observed  bool                                    // live is known
	applied   bool                                    // the object is as this generation declares
	current   bool                                    // and it works there
	pruned    bool                                    // there are no others
	flow.TeamReport
}

func (p *pass) release() {
	for _, lease := range p.leases {
		lease.Release()
	}
}

// secretValues are what messages must not contain: the content of Secrets that are copied, declared, or in the cluster.
func (p *pass) secretValues() (values [][]byte) {
	for _, secret := range p.secrets {
		for _, value := range secret.Data {
			values = append(values, value)
		}
	}
	for _, o := range []*unstructured.Unstructured{p.desired, p.live} {
		if o != nil && o.GetKind() == "Secret" {
			for _, section := range []string{"data", "stringData"} {
				values = append(values, scalars(o.Object[section])...)
			}
		}
	}
	return values
}

// scalars returns the texts, numbers and decoded texts in a value of any form.
func scalars(of any) (values [][]byte) {
	switch of := of.(type) {
	case map[string]any:
		for _, value := range of {
			values = append(values, scalars(value)...)
		}
	case []any:
		for _, value := range of {
			values = append(values, scalars(value)...)
		}
	case nil, bool:
	default:
		text := fmt.Sprint(of)
		values = append(values, []byte(text))
		if decoded, err := base64.StdEncoding.DecodeString(text); err == nil {
			values = append(values, decoded)
		}
	}
	return values
}

// fail ends a pass with an error of the API server. The team reads the activity only.
func fail(activity string, err error) flow.Outcome {
	return flow.FailedTo(activity, ReasonCannotApply, err)
}

// failRemote ends a pass with an error of a cluster, which is retried unless the same request would meet it again.
func (r *Reconciler) failRemote(p *pass, err error) flow.Outcome {
	err = failure.Redact(err, p.secretValues()...)
	if class := failure.Of(err); class.Message != "" { // the message may repeat what is redacted in the error
		err = failure.ForTeam(class.Reason, failure.Redact(errors.New(class.Message), p.secretValues()...).Error(), err)
	}
	if failure.IsTerminal(err) {
		return flow.RejectedAs(ReasonApplyRefused, err)
	}
	return flow.Failed(ReasonCannotApply, err)
}

// checkPaused ends the pass over a resource that is paused, or whose application is.
func (r *Reconciler) checkPaused(ctx context.Context, p *pass) flow.Outcome {
	app := &workloadv1alpha1.KubernetesApplication{}
	if owner := metav1.GetControllerOf(p.resource); owner != nil && owner.Kind == workloadv1alpha1.KubernetesApplicationKind {
		err := r.client.Get(ctx, types.NamespacedName{Namespace: p.resource.Namespace, Name: owner.Name}, app)
		if client.IgnoreNotFound(err) != nil {
			return fail("reading the application", err)
		}
	}
	switch {
	case meta.IsPaused(p.resource):
		return flow.Paused(ReasonPaused, "Paused because the annotation "+meta.AnnotationKeyReconciliationPaused+" is true. Remove it to resume.")
	case meta.IsPaused(app):
		return flow.Paused(ReasonPaused, "Paused because the annotation "+meta.AnnotationKeyReconciliationPaused+" of its application is true.")
	}
	return flow.Next()
}

// report sets the fields of the status other than the conditions.
func (p *pass) report(o flow.Outcome) {
	s := &p.resource.Status
	if p.inventory != nil {
		s.Inventory = p.inventory
	}
	if p.applied {
		s.AppliedGeneration = p.resource.Generation
	}
	if p.current {
		s.CurrentGeneration = p.resource.Generation
	}
	if p.observed {
		s.Remote = clusters.Status(p.live)
	}
	switch {
	case meta.WasDeleted(p.resource): // the state is that before
	case p.resource.Spec.TargetReference == nil:
		s.State = workloadv1alpha1.ResourcePending
	case o.End == flow.Reject && !passes(failure.Of(o.Err).Reason), o.End == flow.Stop:
		s.State = workloadv1alpha1.ResourceFailed
	case s.AppliedGeneration == p.resource.Generation:
		s.State = workloadv1alpha1.ResourceSubmitted
	default:
		s.State = workloadv1alpha1.ResourceScheduled
	}
}

// passes is true for a reason that needs no correction of the resource.
func passes(reason failure.Reason) bool {
	return reason == failure.WaitingForReferences || reason == failure.ExternalSystemThrottled || failure.IsSystemOutOfReach(reason)
}

// A memory is what this process knows of an object beside its status. A new process learns it again.
type memory struct {
	uid         types.UID
	fingerprint string                     // of the object as it was last found to be as declared
	of          int64                      // generation that it was compared with
	last        *unstructured.Unstructured // what the last apply returned, until the watch has it
	copyMark    string                     // see readMark
	reverts     int                        // in a row
	reverted    time.Time
	subscribed  map[*clusters.Cluster]bool
}

func (r *Reconciler) memoryOf(resource *workloadv1alpha1.KubernetesApplicationResource) *memory {
	known, _ := r.memories.LoadOrStore(client.ObjectKeyFromObject(resource), &memory{uid: resource.UID, subscribed: map[*clusters.Cluster]bool{}})
	m := known.(*memory)
	if m.uid != resource.UID {
		*m = memory{uid: resource.UID, subscribed: m.subscribed}
	}
	return m
}

// forget ends what this process does for a resource that is gone.
func (r *Reconciler) forget(name types.NamespacedName) {
	r.turns.Forget(name)
	r.queue.limits.Delete(name)
	if known, ok := r.memories.LoadAndDelete(name); ok {
		for cluster := range known.(*memory).subscribed {
			cluster.Keep(name)
		}
	}
}

// subscribe has changes of an object wake the resource.
func (p *pass) subscribe(cluster *clusters.Lease, to clusters.Object) {
	cluster.Subscribe(client.ObjectKeyFromObject(p.resource), to)
	p.memory.subscribed[cluster.Cluster] = true
	if p.objects == nil {
		p.objects = map[*clusters.Cluster][]clusters.Object{}
	}
	p.objects[cluster.Cluster] = append(p.objects[cluster.Cluster], to)
}

// unsubscribe ends the subscriptions to what the resource no longer has, after a pass that saw all that it has.
func (r *Reconciler) unsubscribe(p *pass) {
	if !p.pruned {
		return
	}
	for cluster := range p.memory.subscribed {
		cluster.Keep(client.ObjectKeyFromObject(p.resource), p.objects[cluster]...)
		if len(p.objects[cluster]) == 0 {
			delete(p.memory.subscribed, cluster)
		}
	}
}
