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
// The controller needs get, list, watch and patch on resources, patch on their statuses, get, list and watch on targets and Secrets.
// In a cluster it has the rights of the target's kubeconfig: get, list, watch, create, patch and delete on what applications consist of.
package applicationresource

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
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
	"github.com/bowline-dev/bowline/pkg/meta"
)

// Finalizer keeps a resource until its objects are deleted from all clusters.
const Finalizer = "bowline.dev/application-resource"

// ControllerName is the name of the controller.
const ControllerName = "kubernetesapplicationresource"

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
	hooks := clusters.Hooks{Changed: r.queue.add, Reachable: r.wakeTarget}
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
	p := &pass{resource: resource, memory: r.memoryOf(resource), leases: map[string]*clusters.Lease{}}
	defer p.release()
	o := flow.Run(fence.With(ctx, r.fence), p, r.lifecycle(resource)...)
	r.watch(p)
	p.SetStatus = func() { p.report(o) }
	return r.settler.Settle(ctx, p.resource, p.TeamReport, o)
}

// lifecycle is the order of everything. Read it first.
func (r *Reconciler) lifecycle(of *workloadv1alpha1.KubernetesApplicationResource) []flow.Step[*pass] {
	if meta.WasDeleted(of) {
		return []flow.Step[*pass]{r.checkPaused, r.awaitFinalizers, r.awaitDependents, r.deleteAll, r.removeFinalizer}
	}
	return []flow.Step[*pass]{
		r.checkPaused, r.findTarget, r.connect, r.readTemplate, r.checkBounds, r.awaitPrerequisites, r.findObject, r.readSecrets,
		r.recordIntent, r.copySecrets, r.observe, r.own, r.apply, r.prune, r.checkReady,
	}
}

// A pass is what the steps of one pass learn. Objects are carried forward as the API server returned them from the last write.
type pass struct {
	resource *workloadv1alpha1.KubernetesApplicationResource
	memory   *memory

	target  *workloadv1alpha1.KubernetesTarget
	cluster *clusters.Lease            // of the target
	leases  map[string]*clusters.Lease // of all targets in the inventory that were looked at, by name
	desired *unstructured.Unstructured // the template
	object  clusters.Object            // that it describes
	secrets []*corev1.Secret           // to copy
	live    *unstructured.Unstructured // the object in the cluster; nil: there is none

	inventory []workloadv1alpha1.RemoteObject // at the end of the pass; nil: as it was
	watching  map[*clusters.Cluster][]clusters.Object
	observed  bool // live is known
	applied   bool // the object is as this generation declares
	pruned    bool // there are no others
	flow.TeamReport
}

func (p *pass) release() {
	for _, lease := range p.leases {
		lease.Release()
	}
}

// secretValues are what messages must not contain.
func (p *pass) secretValues() (values [][]byte) {
	for _, secret := range p.secrets {
		for _, value := range secret.Data {
			values = append(values, value)
		}
	}
	if p.desired != nil && p.desired.GetKind() == "Secret" {
		for _, section := range []string{"data", "stringData"} {
			all, _, _ := unstructured.NestedStringMap(p.desired.Object, section)
			for _, value := range all {
				values = append(values, []byte(value))
			}
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

func (r *Reconciler) checkPaused(_ context.Context, p *pass) flow.Outcome {
	if !meta.IsPaused(p.resource) {
		return flow.Next()
	}
	return flow.Paused(ReasonPaused, "Paused because the annotation "+meta.AnnotationKeyReconciliationPaused+" is true. Remove it to resume.")
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
	if p.observed {
		s.Remote = clusters.Status(p.live)
	}
	switch {
	case p.resource.Spec.TargetReference == nil:
		s.State = workloadv1alpha1.ResourcePending
	case o.End == flow.Reject && failure.Of(o.Err).Reason != failure.WaitingForReferences, o.End == flow.Stop:
		s.State = workloadv1alpha1.ResourceFailed
	case s.AppliedGeneration == p.resource.Generation:
		s.State = workloadv1alpha1.ResourceSubmitted
	default:
		s.State = workloadv1alpha1.ResourceScheduled
	}
}

// A memory is what this process knows of an object beside its status. A new process learns it again.
type memory struct {
	uid         types.UID
	fingerprint string                     // of the object as it was last found to be as declared
	of          int64                      // generation that it was compared with
	last        *unstructured.Unstructured // what the last apply returned, until the watch has it
	reverts     int                        // in a row
	reverted    time.Time
	watched     map[*clusters.Cluster]struct{}
}

func (r *Reconciler) memoryOf(resource *workloadv1alpha1.KubernetesApplicationResource) *memory {
	known, _ := r.memories.LoadOrStore(client.ObjectKeyFromObject(resource), &memory{uid: resource.UID, watched: map[*clusters.Cluster]struct{}{}})
	m := known.(*memory)
	if m.uid != resource.UID {
		*m = memory{uid: resource.UID, watched: m.watched}
	}
	return m
}

// forget ends all watches for a resource.
func (r *Reconciler) forget(who types.NamespacedName) {
	known, ok := r.memories.LoadAndDelete(who)
	if !ok {
		return
	}
	for cluster := range known.(*memory).watched {
		cluster.Watch(who)
	}
}

// watch has the resource woken by changes of its objects, and of no others.
func (r *Reconciler) watch(p *pass) {
	who := client.ObjectKeyFromObject(p.resource)
	for cluster, all := range p.watching {
		cluster.Watch(who, all...)
		p.memory.watched[cluster] = struct{}{}
	}
	for cluster := range p.memory.watched {
		if _, still := p.watching[cluster]; !still && p.pruned {
			cluster.Watch(who)
			delete(p.memory.watched, cluster)
		}
	}
}

// sees notes an object to be watched.
func (p *pass) sees(cluster *clusters.Lease, o clusters.Object) {
	if p.watching == nil {
		p.watching = map[*clusters.Cluster][]clusters.Object{}
	}
	if all := p.watching[cluster.Cluster]; !slices.Contains(all, o) {
		p.watching[cluster.Cluster] = append(all, o)
	}
}
