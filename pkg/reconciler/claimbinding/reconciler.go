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
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
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

	copies  *copies.Copier
	needing watch.Needs
	indexed bool // managed resources by the claim that they name
}

// A ReconcilerOption changes one thing about a Reconciler.
type ReconcilerOption func(*Reconciler)

// WithManagedConfigurators sets the configurators that turn class and claim into the spec of a managed resource (A63). They run in
// the given order, and an error of any stops provisioning (R259). ProviderConfig, reclaim policy and connection Secret of the class
// need no configurator. Default: NewObjectMetaConfigurator alone.
func WithManagedConfigurators(c ...ManagedConfigurator) ReconcilerOption {
	return func(r *Reconciler) { r.configurators = c }
}

// WithRecorder sets where events are recorded. Default: the API server's events, source claimbinding/<controller name>.
func WithRecorder(er event.Recorder) ReconcilerOption { return func(r *Reconciler) { r.recorder = er } }

// NewReconciler returns a reconciler that binds claims of the first kind, with classes of the second, to managed resources of
// the third (A62). All must be in the manager's scheme with their lists; the managed kind must be cluster-scoped and satisfy
// resource.BindableManaged (N28).
func NewReconciler(mgr manager.Manager, of resource.ClaimKind, by resource.ClassKind, with resource.ManagedKind,
	o ...ReconcilerOption) *Reconciler {
	name := ControllerName(of, with)
	r := &Reconciler{
		name:          name,
		client:        mgr.GetClient(),
		live:          mgr.GetAPIReader(),
		scheme:        mgr.GetScheme(),
		claimKind:     schema.GroupVersionKind(of),
		classKind:     schema.GroupVersionKind(by),
		managedKind:   schema.GroupVersionKind(with),
		configurators: []ManagedConfigurator{NewObjectMetaConfigurator(mgr.GetScheme())},
		recorder:      event.NewAPIRecorder(mgr.GetClient(), mgr.GetAPIReader(), "claimbinding/"+name),
		log:           mgr.GetLogger().WithValues("controller", name),
		copies:        copies.New(mgr.GetClient(), mgr.GetAPIReader()),
		needing:       watch.Needs{Client: mgr.GetClient(), Kind: schema.GroupVersionKind(of), Index: name + "/needs"},
	}
	for _, apply := range o {
		apply(r)
	}
	// Panic now where the scheme lacks a kind.
	_, _, _ = r.newClaim(), r.newClass(), r.newManaged()
	_ = objects.MustNewList(r.scheme, r.managedKind)
	return r
}

// ControllerName returns the name of the controller of a claim kind and a managed kind, in lower case:
// <claim kind>.<managed kind>.<group of the managed kind> (R12).
func ControllerName(of resource.ClaimKind, with resource.ManagedKind) string {
	return strings.ToLower(of.Kind + "." + schema.GroupVersionKind(with).GroupKind().String())
}

// Reconcile moves one claim one pass closer to being bound, or to the end of its deletion.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	claim := r.newClaim()
	err := r.client.Get(ctx, req.NamespacedName, claim)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading the claim: %w", err)
	}
	if strayed := r.reclaimStrays(ctx, req.NamespacedName, claim); strayed != nil || err != nil || !r.serves(claim) {
		return flow.Written("", strayed).Result(0)
	}
	p := &pass{claim: claim}
	return r.settle(ctx, p, flow.Run(ctx, p, r.lifecycle(claim)...))
}

// lifecycle is the order of everything. Read it first.
func (r *Reconciler) lifecycle(claim resource.Claim) []step {
	if meta.WasDeleted(claim) {
		return []step{awaitFinalizers, r.reclaimUnreferenced, r.findBound, r.reclaim, r.unreserve, r.removeFinalizer}
	}
	return []step{r.find, r.checkClass, r.configure, r.reserve, r.addFinalizer, r.provision, r.recordResource, r.awaitBindable,
		r.bind, r.copySecret, r.showResource, r.checkReady, r.checkSelector}
}

// serves is true for claims of this controller: those that name a managed resource of its kind, or none and a class of its kind
// (R281). The version does not count, since kinds get new ones and claims keep their references.
func (r *Reconciler) serves(claim resource.Claim) bool {
	if ref := claim.GetResourceReference(); ref != nil {
		return objects.IsOf(ref, r.managedKind)
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
	return objects.MustNew[resource.BindableManaged](r.scheme, r.managedKind)
}

// A pass is what the steps of one pass learn. Objects are carried forward as the API server returned them from the last write,
// since the cache may be behind.
type pass struct {
	claim   resource.Claim
	class   resource.Class           // nil for a claim that has its managed resource
	planned resource.BindableManaged // to be created
	managed resource.BindableManaged
	bound   bool // claim and managed resource, on both sides
	lacking bool // the claim's Secret lacks keys that the source lost
	flow.TeamReport
}

type step = flow.Step[*pass]

// settle is the only place that turns an outcome into conditions, events, a status write and the time of the next pass.
func (r *Reconciler) settle(ctx context.Context, p *pass, o flow.Outcome) (reconcile.Result, error) {
	p.SetStatus = func() { p.claim.SetBindingPhase(p.phase(o)) }
	s := flow.TeamSettler{Client: r.client, Recorder: r.recorder, Log: r.log, Poll: pollInterval, Pending: xpv1.ReasonBinding}
	return s.Settle(ctx, p.claim, p.TeamReport, o)
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
	ReasonReleased    event.Reason = "ReleasedManagedResource"    // the managed resource of a deleted claim was kept
	ReasonCannotBind  event.Reason = "CannotBindClaim"            // a pass failed and is retried
)

// Reasons returns an explanation of every reason that claims show in condition Ready or in events, from all controllers: those first
// that keep a claim from being ready.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(xpv1.ReasonNoMatchingClass), "No class has the labels of the selector, or there is no default class.",
			"List the labels of classes: kubectl get classes --show-labels. Then correct spec.classSelector, or ask your platform "+
				"team for a class."),
		event.Explain(event.Reason(xpv1.ReasonAmbiguousDefaultClass), "There are several default classes, and the claim selects none.",
			"Select one in spec.classSelector, or ask your platform team to keep one default class."),
		event.Explain(event.Reason(xpv1.ReasonClassNotFound),
			"The class in spec.classRef does not exist, or no provider serves classes of its kind.",
			"List the classes: kubectl get classes. Then correct spec.classRef, or ask your platform team for the class."),
		event.Explain(event.Reason(xpv1.ReasonResourceNotFound), "No provider has managed resources of the kind in spec.resourceRef for such "+
			"claims.", "Delete the claim and create it again with a managed resource, or with a class."),
		event.Explain(event.Reason(xpv1.ReasonNotAllowed), "The class or the managed resource does not permit the claim's namespace.",
			"Select another one, or ask your platform team to permit your namespace."),
		event.Explain(event.Reason(xpv1.ReasonLimitReached), "The maximum number of claims uses the class.",
			"Delete a claim that is not needed, select another class, or ask your platform team to raise the limit."),
		event.Explain(event.Reason(xpv1.ReasonBinding), "The claim waits for its managed resource.", ""),
		event.Explain(event.Reason(xpv1.ReasonUnavailable), "The managed resource is not usable at the moment.", ""),
		event.Explain(event.Reason(xpv1.ReasonResourceLost), "The managed resource of the claim, or its external resource with the data, "+
			"was deleted; it is not replaced, because its data would be missing.", "If the managed resource was deleted, delete the claim and "+
			"create another. If the external resource was, ask your platform team to restore it, or to permit an empty one."),
		event.Explain(ReasonCannotBind, "A pass over the claim failed and is retried.",
			"Usually nothing. If it lasts, ask your platform team to check the log of the controllers."),
		event.Explain(event.Reason(failure.BadConnectionKeys),
			"A template in the annotation bowline.dev/connection-keys is invalid. The claim's Secret has all other keys.",
			"Read the message: it names the keys."),
		event.Explain(event.Reason(failure.ConnectionDetailsLost), "The connection Secret of the managed resource lost keys. Ready is False if "+
			"the claim's Secret lacks them too.", "Read the message: it names the keys. Ask your platform team, which can see what to do."),
		event.Explain("ClassSelected", "A class was selected for the claim, by its selector or by default.", ""),
		event.Explain(ReasonProvisioned, "A managed resource was created for the claim.", ""),
		event.Explain(ReasonBound, "The claim is bound to its managed resource, which no other claim can use.", ""),
		event.Explain(ReasonDeleted, "The claim was deleted, and its managed resource too, because of the reclaim policy.", ""),
		event.Explain(ReasonReleased, "The claim was deleted, and its managed resource was kept, because of the reclaim policy.", ""),
	}
}
