// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimbinding binds resource claims to managed resources.
//
//	r := claimbinding.NewReconciler(mgr,
//		resource.ClaimKind(databasev1alpha1.FancySQLInstanceGroupVersionKind),
//		resource.ClassKind(v1alpha3.FavouriteDBInstanceClassGroupVersionKind),
//		resource.ManagedKind(v1alpha3.FavouriteDBInstanceGroupVersionKind),
//		claimbinding.WithManagedConfigurators(
//			claimbinding.ManagedConfiguratorFn(ConfigureFavouriteDBInstance),
//			claimbinding.NewObjectMetaConfigurator(mgr.GetScheme()),
//		))
//	return r.SetupWithManager(mgr)
//
// A pass is a short list of steps, see lifecycle. It may stop anywhere and be repeated.
//
// # One claim, one managed resource
//
// The name of a managed resource that is created for a claim follows from the claim's UID, and a label holds that UID. A later pass
// looks for the label in the API server, not in a cache, before it creates anything; two concurrent passes meet at the name (N11,
// R268).
//
// # Consent
//
// A claim that names an existing managed resource gets it only where that allows it: its spec.claimRef names the claim, with
// its UID or without one, or its annotation bowline.dev/allowed-namespaces lists the namespace (N27). A released one still names its
// former claim, and so belongs to none until an administrator clears or changes spec.claimRef; a new claim of the same name has another
// UID.
//
// # Limits
//
// A class with spec.claims.max lists the claims that use it in its annotation bowline.dev/claims. A managed resource that a deleted
// claim left counts until an administrator clears its spec.claimRef.
package claimbinding

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding/internal/kinds"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// Finalizer keeps a claim until its managed resource was deleted or released (R279).
const Finalizer = meta.FinalizerClaim

// LabelClaimUID on a managed resource that was created for a claim is the UID of that claim.
const LabelClaimUID = "bowline.dev/claim-uid"

// pollInterval is how often a claim that waits is reconciled without an event.
const pollInterval = time.Minute

// A Reconciler binds claims of one kind to managed resources of one kind (R6).
type Reconciler struct {
	name   string
	client client.Client
	live   client.Reader // not cached, for what must be certain
	scheme *runtime.Scheme

	claimKind   schema.GroupVersionKind
	classKind   schema.GroupVersionKind
	managedKind schema.GroupVersionKind

	configurators []ManagedConfigurator
	recorder      event.Recorder
	log           logr.Logger
	settler       *flow.TeamSettler

	copies  *copies.Copier
	needing watch.Needs
	watches *watch.OnDemand
	refused *watch.Refused
	indexer client.FieldIndexer
	kinds   *kinds.Kinds // nil for one managed kind with a Go type
	indexed bool         // managed resources by the claim that they name
	data    bool         // people store data in the external resources
}

// A ReconcilerOption changes one thing about a Reconciler.
type ReconcilerOption func(*Reconciler)

// WithManagedConfigurators sets the configurators that turn class and claim into the spec of a managed resource (A63). They run in
// the given order, and an error of any stops provisioning (R259). ProviderConfig, reclaim policy and connection Secret of the class
// need no configurator. Default: NewObjectMetaConfigurator alone.
func WithManagedConfigurators(c ...ManagedConfigurator) ReconcilerOption {
	return func(r *Reconciler) { r.configurators = c }
}

// WithData has the reconciler keep the managed resource of a claim that is gone without having been released, because its finalizer was
// removed by force: people store data in external resources of the kind (N56).
func WithData(held bool) ReconcilerOption { return func(r *Reconciler) { r.data = held } }

// WithKinds has the reconciler bind claims to managed resources of kinds without a Go type, which the classes name. The managed kind of the
// reconciler then is one that only names the controller.
func WithKinds(k resource.Kinds) ReconcilerOption {
	return func(r *Reconciler) { r.kinds, r.managedKind = &kinds.Kinds{Kinds: k}, schema.GroupVersionKind{} }
}

// WithRecorder sets where events are recorded. Default: the API server's events, source claimbinding/<controller name>.
func WithRecorder(er event.Recorder) ReconcilerOption { return func(r *Reconciler) { r.recorder = er } }

// NewReconciler returns a reconciler that binds claims of the first kind, with classes of the second, to managed resources of
// the third (A62). All must be in the manager's scheme with their lists; the managed kind must be cluster-scoped and satisfy
// resource.BindableManaged (N28). With WithKinds, the class kind must satisfy resource.KindedClass.
func NewReconciler(mgr manager.Manager, of resource.ClaimKind, by resource.ClassKind, with resource.ManagedKind,
	o ...ReconcilerOption) *Reconciler {
	name := ControllerName(of, with)
	r := &Reconciler{
		name:          name,
		client:        unstructured.ClientOf(mgr),
		live:          mgr.GetAPIReader(),
		scheme:        mgr.GetScheme(),
		claimKind:     schema.GroupVersionKind(of),
		classKind:     schema.GroupVersionKind(by),
		managedKind:   schema.GroupVersionKind(with),
		configurators: []ManagedConfigurator{NewObjectMetaConfigurator(mgr.GetScheme())},
		recorder:      event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "claimbinding/"+name),
		log:           mgr.GetLogger().WithValues("controller", name),
		copies:        copies.New(mgr.GetClient(), mgr.GetAPIReader()),
		watches:       &watch.OnDemand{},
		indexer:       mgr.GetFieldIndexer(),
		needing:       watch.Needs{Client: mgr.GetClient(), Kind: schema.GroupVersionKind(of), Index: name + "/needs"},
	}
	r.refused = watch.NewRefused(&r.needing, r.watches)
	for _, apply := range o {
		apply(r)
	}
	r.settler = &flow.TeamSettler{Client: r.client, Recorder: r.recorder, Log: r.log, Poll: pollInterval, Pending: xpv1.ReasonBinding}
	// Panic now where the scheme lacks a kind.
	_, _, _ = r.newClaim(), r.newClass(), r.newManaged()
	if r.kinds == nil {
		_ = objects.MustNewList(r.scheme, r.managedKind)
	}
	return r
}

// ControllerName returns the name of the controller of a claim kind and a managed kind, in lower case:
// <claim kind>.<managed kind>.<group of the managed kind> (R12).
func ControllerName(of resource.ClaimKind, with resource.ManagedKind) string {
	return strings.ToLower(of.Kind + "." + schema.GroupVersionKind(with).GroupKind().String())
}

// Reconcile moves one claim one pass closer to being bound, or to the end of its deletion. A request without a namespace is for a class.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if req.Namespace == "" {
		return flow.Written("", r.openKindOf(ctx, req.Name)).Result(0)
	}
	claim := r.newClaim()
	err := r.client.Get(ctx, req.NamespacedName, claim)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading the claim: %w", err)
	}
	for _, by := range r.each() {
		if strayed := by.reclaimStrays(ctx, req.NamespacedName, claim); strayed != nil {
			return flow.Written("", strayed).Result(0)
		}
	}
	if err != nil || !r.serves(claim) {
		return reconcile.Result{}, nil
	}
	p, by := &pass{claim: claim}, r.forClaim(ctx, claim)
	return by.settle(ctx, p, flow.Run(ctx, p, by.lifecycle(claim)...))
}

// lifecycle is the order of everything. Read it first.
func (r *Reconciler) lifecycle(claim resource.Claim) []step {
	if meta.WasDeleted(claim) {
		return []step{awaitFinalizers, r.reclaimUnreferenced, r.findBound, r.reclaim, r.unreserve, r.removeFinalizer}
	}
	return []step{r.checkKind, r.find, r.checkClass, r.checkServed, r.configure, r.reserve, r.addFinalizer, r.provision, r.recordResource, r.awaitBindable,
		r.bind, r.copySecret, r.showResource, r.passRotation, r.checkReady, r.checkSelector}
}

// serves is true for claims of this controller: those that name a managed resource of its kind, or none and a class of its kind
// (R281). The version does not count, since kinds get new ones and claims keep their references.
func (r *Reconciler) serves(claim resource.Claim) bool {
	if ref := claim.GetResourceReference(); ref != nil {
		return r.provides(ref)
	}
	return objects.IsOf(claim.GetClassReference(), r.classKind)
}

func (r *Reconciler) newClaim() resource.Claim {
	return objects.MustNew[resource.Claim](r.scheme, r.claimKind)
}

func (r *Reconciler) newClass() resource.Class {
	return objects.MustNew[resource.Class](r.scheme, r.classKind)
}

func (r *Reconciler) newManaged() resource.BindableManaged {
	if r.kinds != nil {
		return unstructured.New(r.managedKind)
	}
	return objects.MustNew[resource.BindableManaged](r.scheme, r.managedKind)
}

// A pass is what the steps of one pass learn. Objects are carried forward as the API server returned them from the last write,
// since the cache may be behind.
type pass struct {
	claim   resource.Claim
	class   resource.Class           // nil for a claim that has its managed resource
	planned resource.BindableManaged // to be created
	managed resource.BindableManaged
	bound   bool  // claim and managed resource, on both sides
	problem error // with the content of the claim's Secret
	flow.TeamReport
}

type step = flow.Step[*pass]

// settle is the only place that turns an outcome into conditions, events, a status write and the time of the next pass.
func (r *Reconciler) settle(ctx context.Context, p *pass, o flow.Outcome) (reconcile.Result, error) {
	p.SetStatus = func() { p.claim.SetBindingPhase(p.phase(o)) }
	return r.settler.Settle(ctx, p.claim, p.TeamReport, o)
}

// phase is the binding phase of the claim. A failure does not change it, nor does a deletion that waits.
func (p *pass) phase(o flow.Outcome) xpv1.BindingPhase {
	switch {
	case p.bound:
		return xpv1.BindingPhaseBound
	case (o.End == flow.Fail || meta.WasDeleted(p.claim)) && p.claim.GetBindingPhase() != "":
		return p.claim.GetBindingPhase()
	default:
		return xpv1.BindingPhaseUnbound
	}
}

// fail ends a pass with an error of the API server. The team reads the activity only.
func fail(activity string, err error) flow.Outcome {
	return flow.FailedTo(activity, ReasonCannotBind, err)
}

// patchClaim stores a change of the claim.
func (r *Reconciler) patchClaim(ctx context.Context, p *pass, change func(resource.Claim)) error {
	claim, err := objects.Patch(ctx, r.client, p.claim, change)
	if err == nil {
		p.claim = claim
	}
	return err
}

// Reasons of events. Claims that wait or are refused have events of the reason of their condition Ready, too.
const (
	ReasonProvisioned event.Reason = "ProvisionedManagedResource" // a managed resource was created for the claim
	ReasonBound       event.Reason = "BoundManagedResource"       // claim and managed resource are bound to each other
	ReasonDeleted     event.Reason = "DeletedManagedResource"     // the managed resource of a deleted claim was deleted
	ReasonReleased    event.Reason = "ReleasedManagedResource"    // the managed resource of a claim that is gone was kept
	ReasonCannotBind  event.Reason = "CannotBindClaim"            // a pass failed and is retried
)
