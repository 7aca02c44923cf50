// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Finalizer keeps a managed resource until its external resource is gone (R51).
const Finalizer = "finalizer.managedresource.crossplane.io"

// ControllerName returns the name of the controller of a managed kind: <kind>.<group> in lower case (R9).
func ControllerName(of schema.GroupKind) string {
	return strings.ToLower(of.String())
}

// A Reconciler keeps managed resources of one kind and their external resources in step.
type Reconciler struct {
	client     client.Client
	live       client.Reader // past the cache, for the rare case in which the cache is known to be behind
	cache      cache.Cache
	newManaged func() resource.Managed
	kind       schema.GroupVersionKind

	connecter   ExternalConnecter
	defaultName func(resource.Managed) string // nil for kinds whose names the external system makes up
	secrets     connectionSecrets
	recorder    event.Recorder
	log         logr.Logger

	policies      bool
	parameters    []parameters.Option
	timeout       time.Duration
	pollInterval  time.Duration
	creationGrace time.Duration
	consistency   time.Duration
	inputInterval time.Duration
	backoff       backoff
	now           func() time.Time
	random        func() float64

	instruments instruments

	memory     *memory
	operations operations
	references *References
	acquainted atomic.Bool // every object was looked at, for a kind that refers to others
	wakeups    wakeups
}

// NewReconciler returns a reconciler for managed resources of the given kind, which must be in the manager's scheme unless
// WithNewManaged says how it is made (A50). It needs WithExternalConnecter or WithTypedExternalConnecter, and a manager whose
// cache has CacheOptions: with others it works, but holds every Secret of the cluster in memory, and needs the right to list
// them (N30).
func NewReconciler(mgr manager.Manager, of resource.ManagedKind, o ...ReconcilerOption) *Reconciler {
	kind := schema.GroupVersionKind(of)
	name := ControllerName(kind.GroupKind())
	r := &Reconciler{
		client:        mgr.GetClient(),
		live:          mgr.GetAPIReader(),
		cache:         mgr.GetCache(),
		newManaged:    func() resource.Managed { return objects.MustNew[resource.Managed](mgr.GetScheme(), kind) },
		kind:          kind,
		connecter:     noConnecter{},
		defaultName:   func(mg resource.Managed) string { return mg.GetName() },
		recorder:      event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "managed/"+name),
		log:           mgr.GetLogger(),
		policies:      true,
		timeout:       defaultTimeout,
		pollInterval:  defaultPollInterval,
		creationGrace: defaultCreationGrace,
		consistency:   defaultCreationGrace,
		inputInterval: defaultInputInterval,
		backoff:       backoff{first: time.Second, most: time.Minute},
		now:           time.Now,
		random:        rand.Float64,
		memory:        newMemory(),
		operations:    operations{all: map[types.NamespacedName]*operation{}},
		references:    NewReferences(mgr),
	}
	for _, apply := range o {
		apply(r)
	}
	r.instruments.mustBegin(name)
	r.log = r.log.WithValues("kind", name)
	_ = r.newManaged() // a kind that the scheme lacks is the caller's mistake, to be seen at once
	r.references.serve(r)
	r.secrets = connectionSecrets{client: r.client, live: r.live, owner: kind, memory: r.memory}
	return r
}

// Reconcile moves one managed resource one pass closer to its spec.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	mg := r.newManaged()
	if err := r.client.Get(ctx, req.NamespacedName, mg); err != nil {
		if client.IgnoreNotFound(err) == nil {
			r.memory.forget(req.NamespacedName)
			r.operations.forget(req.NamespacedName)
			r.references.gone(ctx, r.dependent(req.NamespacedName))
			r.instruments.kind.Drifted(req.NamespacedName, false)
		}
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	known, rest := r.memory.known(mg, r.now())
	rec, wakes := r.memory.of(mg)
	if known {
		return rec.comeBack(rest), nil
	}
	p, err := r.newPass(mg, rec, wakes)
	if err != nil {
		return reconcile.Result{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	ctx = r.beginSpan(ctx, p)
	defer p.span.End()
	defer r.disconnect(ctx, p)
	return r.settle(ctx, p, r.try(ctx, p, r.lifecycle(mg)))
}

// try runs steps. If the provider's code panics, that is an error of the object like any other: whoever looks at it has to
// know, and all else goes on.
func (r *Reconciler) try(ctx context.Context, p *pass, steps []step) (o outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			telling, cancel := detach(ctx)
			defer cancel()
			said := redactText(fmt.Sprint(cause), r.secretsOfPass(telling, p))
			r.logOf(ctx, p.managed).Error(nil, "The provider's code panicked", "panic", said, "stack", string(debug.Stack()))
			o = fail(ReasonPanicked, errors.New("the provider's code panicked, which is a mistake in the provider: see the controller's log"))
		}
	}()
	return run(ctx, p, steps)
}

// lifecycle is the order of everything. Read it first; each step lives in the file of its name.
func (r *Reconciler) lifecycle(mg resource.Managed) []step {
	if meta.WasDeleted(mg) {
		return []step{r.checkFinalizer, r.awaitOperation, r.releaseAbandoned, r.rememberReferences, r.checkPaused, r.releaseOrphan,
			r.checkPolicies, r.awaitDependents, r.initialize, r.recallCreate, r.connect, r.checkIncompleteCreate, r.observe,
			r.deleteExternal, r.finalize}
	}
	return []step{r.awaitOperation, r.checkPaused, r.checkPolicies, r.initialize, r.recallCreate, r.resolveReferences,
		r.connect, r.readInputs, r.checkIncompleteCreate, r.observe, r.checkOwnership, r.create, r.publish, r.noteMove,
		r.lateInitialize, r.renewLost, r.update, r.adopt, r.publish, r.reportDrift, r.checkFailure, r.reportLost, r.reportRefusal}
}

// A step does one thing and returns an outcome; run stops at the first that does not go on. Steps never write status,
// emit events or choose when to come back. They store only what must survive a crash.
type step func(context.Context, *pass) outcome

func run(ctx context.Context, p *pass, steps []step) outcome {
	for _, do := range steps {
		if o := do(ctx, p); o.end != goOn {
			return o
		}
	}
	return next()
}
