// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/clients/fence"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// Finalizer keeps a managed resource until its external resource is deleted (R51).
const Finalizer = "finalizer.managedresource.crossplane.io"

// ControllerName returns the name of the controller of a managed kind: <kind>.<group> in lower case (R9).
func ControllerName(of schema.GroupKind) string { return strings.ToLower(of.String()) }

// A Reconciler keeps managed resources of one kind and their external resources in step.
type Reconciler struct {
	client     client.Client
	live       client.Reader // past the cache, where the cache may be behind
	newManaged func() resource.Managed
	kind       schema.GroupVersionKind

	connecter    ExternalConnecter
	initializers []Initializer
	finalizer    ObjectFinalizer               // nil for none
	defaultName  func(resource.Managed) string // nil for kinds whose names the external system chooses
	secrets      connection.Publisher
	recorder     event.Recorder
	brake        DeletionBrake // may be nil
	fence        fence.Fence   // may be nil
	owns         func(context.Context, resource.Managed) (bool, error)
	log          logr.Logger

	policies       bool
	labels         bool
	recreatePolicy xpv1.RecreatePolicy // of objects without one
	parameters     parameters.Rules
	timeout        time.Duration
	callTimeout    time.Duration // of calls in the background; zero: calls are made within the pass
	pollInterval   time.Duration
	creationGrace  time.Duration
	consistency    time.Duration
	inputInterval  time.Duration
	backoff        backoff
	now            func() time.Time
	random         func() float64

	instruments instruments

	memory     *memory
	references *References
	resolved   atomic.Bool                  // the references of every object have been read once
	queue      atomic.Pointer[requestQueue] // of the controller, once it runs
}

// NewReconciler returns a reconciler for managed resources of the given kind, which must be in the scheme of the manager unless
// WithNewManaged creates its objects (A50). It needs WithExternalConnecter or WithTypedExternalConnecter, and CacheOptions: with
// another cache it works, but holds every Secret of the cluster in memory, and needs the right to list them (N30).
func NewReconciler(mgr manager.Manager, of resource.ManagedKind, o ...ReconcilerOption) *Reconciler {
	kind := schema.GroupVersionKind(of)
	name := ControllerName(kind.GroupKind())
	r := &Reconciler{
		client:         unstructured.ClientOf(mgr),
		live:           mgr.GetAPIReader(),
		newManaged:     func() resource.Managed { return objects.MustNew[resource.Managed](mgr.GetScheme(), kind) },
		kind:           kind,
		connecter:      noConnecter{},
		defaultName:    func(mg resource.Managed) string { return mg.GetName() },
		recorder:       event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "managed/"+name),
		log:            mgr.GetLogger(),
		policies:       true,
		recreatePolicy: xpv1.RecreateAlways,
		timeout:        defaultTimeout,
		pollInterval:   defaultPollInterval,
		creationGrace:  defaultCreationGrace,
		consistency:    defaultCreationGrace,
		inputInterval:  defaultInputInterval,
		backoff:        backoff{first: time.Second, most: time.Minute},
		now:            time.Now,
		random:         rand.Float64,
		owns:           func(context.Context, resource.Managed) (bool, error) { return true, nil },
		memory:         newMemory(),
		references:     NewReferences(mgr),
	}
	for _, apply := range o {
		apply(r)
	}
	r.instruments.mustBegin(name)
	r.log = r.log.WithValues("kind", name)
	_ = r.newManaged().DeepCopyObject().(resource.Managed) // panics at once for a kind that the scheme lacks, or that copies to another type
	r.references.Serve(kind, server{r})
	r.secrets = connection.Publisher{Client: r.client, Live: r.live, Owner: kind}
	return r
}

// Reconcile moves one managed resource one pass closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	found := r.newManaged()
	if err := r.client.Get(ctx, req.NamespacedName, found, client.UnsafeDisableDeepCopy); err != nil { // newPass copies it
		if client.IgnoreNotFound(err) == nil {
			r.forget(ctx, req.NamespacedName)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if kind := found.GetObjectKind(); kind.GroupVersionKind() != r.kind { // a cache that does not copy does not set it
		kind.SetGroupVersionKind(r.kind)
	}
	mine, err := r.owns(ctx, found)
	if err != nil {
		return reconcile.Result{}, err
	}
	known, rest := r.memory.known(found, r.now())
	rec, wakes := r.memory.of(found)
	if !mine && !rec.keepsResults() {
		r.leave(ctx, found, rec)
		return reconcile.Result{}, nil
	}
	if rec.left != 0 { // it was of another process, which knows more
		r.memory.forget(req.NamespacedName)
		rec, wakes = r.memory.of(found)
	}
	if known {
		return rec.requeueAfter(rest), nil
	}
	p, err := r.newPass(found, rec, wakes)
	if err != nil {
		return reconcile.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*r.timeout)
	defer cancel()
	ctx, span := r.instruments.tracer.Start(ctx, "reconcile "+r.kind.Kind)
	defer span.End()
	defer r.disconnect(ctx, p)
	defer r.announceDeletion(ctx, p.managed)()
	observing, acting := r.lifecycle(p.managed)
	return r.settle(ctx, p, flow.Run(ctx, p, r.run(observing...), r.run(acting...)))
}

// forget drops what the process knows of an object that was deleted.
func (r *Reconciler) forget(ctx context.Context, name types.NamespacedName) {
	r.memory.forget(name)
	r.references.Gone(ctx, r.dependent(name))
	r.instruments.kind.Drifted(name, false)
}

// leave ends a request for an object that another process reconciles: of it this process knows nothing but what it refers to, since the
// order of deletions depends on that.
func (r *Reconciler) leave(ctx context.Context, found resource.Managed, rec *record) {
	if rec.left == found.GetGeneration() {
		return
	}
	key := client.ObjectKeyFromObject(found)
	r.memory.forget(key)
	r.instruments.kind.Drifted(key, false)
	rec, _ = r.memory.of(found)
	if r.resolveReferences(ctx, found) == nil {
		rec.left = found.GetGeneration()
	}
	rec.resolved.Store(true)
}

// lifecycle is the order of everything. Read it first. What follows the observation has a deadline of its own (N70).
func (r *Reconciler) lifecycle(mg resource.Managed) (observing, acting []step) {
	if meta.WasDeleted(mg) {
		return []step{r.guardDeletion, r.initialize, r.awaitFinalizers, r.awaitDependents, r.connect, r.recover, r.observe},
			[]step{r.deleteExternal, r.finalize}
	}
	return []step{r.guard, r.prepare, r.carry, r.initialize, r.resolve, r.connect, r.recover, r.observe},
		[]step{r.own, r.create, r.publish, r.beginRotation, r.update, r.endRotation, r.adopt, r.report}
}

// A step does one thing and returns an outcome. Steps never write status, emit events or choose the requeue: they note conditions and
// events for settle. They store only what must survive a crash.
type step = flow.Step[*pass]

type outcome = flow.Outcome

// run returns a step that runs others with a deadline. A panic of the provider's code is an error of the object; other objects are
// reconciled as before.
func (r *Reconciler) run(steps ...step) step {
	return func(whole context.Context, p *pass) (o outcome) {
		ctx, cancel := context.WithTimeout(whole, r.timeout)
		_ = cancel // the end of the pass cancels it, not that of these steps: a client may keep the context that it was connected with
		defer func() {
			if cause := recover(); cause != nil {
				r.logPanic(ctx, p.managed, "", cause, func(ctx context.Context) [][]byte { return r.secretsOfPass(ctx, p) })
				o = failed(ReasonPanicked, errors.New("the provider's code panicked, which is a bug in the provider: see the controller's log"))
			}
		}()
		return flow.Run(ctx, p, steps...)
	}
}
