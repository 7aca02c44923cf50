// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package class reports whether claims can get anything from a class.
//
// Condition Ready of a class depends on what the class names: its ProviderConfig, the namespace of its connection Secrets, and its
// namespace selector. It is for people and for kubectl wait; no claim waits for it. Teams may read classes and no ProviderConfigs, so
// the message does not repeat what a ProviderConfig reports.
//
//	return class.NewReconciler(mgr, resource.ClassKind(v1.BucketClassGroupVersionKind),
//		class.WithProviderConfigs(v1.ProviderConfigGroupVersionKind)).SetupWithManager(mgr)
//
// Nothing is written to a class without conditions, or whose definition lacks the status subresource (N58).
package class

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/event"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// A Reconciler writes condition Ready of the classes of one kind.
type Reconciler struct {
	client  client.Client
	scheme  *runtime.Scheme
	kind    schema.GroupVersionKind
	configs schema.GroupVersionKind // empty for none
	kinds   resource.Kinds          // nil for one managed kind with a Go type
	watches watch.OnDemand
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithProviderConfigs sets the kind of ProviderConfigs that managed resources of the classes use. Default: none.
func WithProviderConfigs(kind schema.GroupVersionKind) Option {
	return func(r *Reconciler) { r.configs = kind }
}

// WithKinds has classes show whether the kinds without a Go type that they name are served, and what about their templates is wrong. Their
// ProviderConfigs are of the groups of these kinds.
func WithKinds(k resource.Kinds) Option { return func(r *Reconciler) { r.kinds = k } }

// NewReconciler returns a reconciler for classes of the given kind, which must be in the manager's scheme with its list, and satisfy
// resource.Class and resource.Conditioned.
func NewReconciler(mgr manager.Manager, of resource.ClassKind, o ...Option) *Reconciler {
	r := &Reconciler{client: unstructured.ClientOf(mgr), scheme: mgr.GetScheme(), kind: schema.GroupVersionKind(of)}
	_ = r.newClass() // panic early for a kind that the scheme lacks
	for _, apply := range o {
		apply(r)
	}
	return r
}

type conditionedClass interface {
	resource.Class
	resource.Conditioned
}

func (r *Reconciler) newClass() conditionedClass {
	return objects.MustNew[conditionedClass](r.scheme, r.kind)
}

// ReasonInvalidSelector is a reason of condition Ready. Further ones are those of the ProviderConfig, and of package failure.
const ReasonInvalidSelector xpv1.ConditionReason = "InvalidNamespaceSelector"

// ReasonKindNotServed is a reason of condition Ready of a class that names the kind of its managed resources.
const ReasonKindNotServed xpv1.ConditionReason = "KindNotServed"

// Reasons explains the reasons of condition Ready that no other kind has.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(ReasonInvalidSelector), "The namespace selector of the class cannot be read, so that no claim may use the class.",
			"Correct specTemplate.claims.namespaceSelector."),
		event.Explain(event.Reason(ReasonKindNotServed), "Nothing serves the kind of managed resources that the class names. Claims of the class wait.",
			"Read the message. Claims are bound as soon as the kind is served."),
	}
}

// SetupWithManager adds a controller to the manager that watches classes, their ProviderConfigs, and from the first class on the
// metadata of namespaces. Its name is <kind>.<group> in lower case.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	name := strings.ToLower(r.kind.GroupKind().String())
	b := builder.ControllerManagedBy(mgr).
		Named(name).
		For(r.newClass()).
		WithOptions(queue.Options(mgr, name, 0, flow.ConflictDelay, time.Minute))
	if !r.configs.Empty() {
		b = b.Watches(objects.MustNew[resource.ProviderConfig](r.scheme, r.configs), r.enqueue(named(resource.ProviderConfigName)),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: changesReadiness}))
	}
	if r.kinds != nil {
		definer, redefines := r.kinds.Definer()
		b = b.Watches(definer, r.enqueue(func(class, definer client.Object) bool {
			return class.(resource.KindedClass).GetManagedKind().Group == r.kinds.Group(definer)
		}), builder.WithPredicates(redefines))
	}
	return r.watches.Build(mgr, b, r)
}

// changesReadiness leaves out updates of a ProviderConfig that change nothing about its classes, as those of its number of users.
func changesReadiness(e ctrlevent.UpdateEvent) bool {
	before, _ := unstructured.As[resource.ProviderConfig](e.ObjectOld)
	after, _ := unstructured.As[resource.ProviderConfig](e.ObjectNew)
	return meta.WasDeleted(before) != meta.WasDeleted(after) ||
		!flow.Same(before.GetCondition(xpv1.TypeReady), after.GetCondition(xpv1.TypeReady))
}

// named is true for a class that has the name of an object.
func named(nameIn func(class client.Object) string) func(class, o client.Object) bool {
	return func(class, o client.Object) bool { return nameIn(class) == o.GetName() }
}

// enqueue returns a handler that enqueues the classes that depend on the object of an event.
func (r *Reconciler) enqueue(depends func(class, o client.Object) bool) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) (requests []reconcile.Request) {
		classes, err := objects.List[resource.Class](ctx, r.client, r.scheme, r.kind, client.UnsafeDisableDeepCopy)
		if err != nil {
			log.FromContext(ctx).Error(err, "Cannot list classes", "kind", r.kind.GroupKind().String())
		}
		for _, class := range classes {
			if depends(class, o) {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(class)})
			}
		}
		return requests
	})
}

// A pass is one reconcile of one class.
type pass struct {
	class conditionedClass
	ready xpv1.Condition // to report; without a type it stays as it is
}

// Reconcile writes condition Ready of a class, unless it is the same (N58).
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := &pass{class: r.newClass()}
	if err := r.client.Get(ctx, req.NamespacedName, p.class); err != nil || meta.WasDeleted(p.class) {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	o := flow.Run(ctx, p, r.checkSelector, r.checkNamespace, r.checkKind, r.checkConfig)
	if o.Err == nil && p.ready.Type != "" {
		_, err := flow.Report(ctx, r.client, p.class, func() { flow.Set(p.class, p.ready, p.class.GetCondition(xpv1.TypeReady)) })
		o = flow.Written("", client.IgnoreNotFound(err)) // where the definition on the server has no status subresource
	}
	return o.Result(0)
}

// refuse ends the pass of a class from which no claim can get anything.
func (p *pass) refuse(reason xpv1.ConditionReason, format string, a ...any) flow.Outcome {
	p.ready = xpv1.Waiting(reason, fmt.Sprintf(format, a...))
	return flow.Await(0, "")
}

func (r *Reconciler) checkSelector(_ context.Context, p *pass) flow.Outcome {
	if _, err := metav1.LabelSelectorAsSelector(p.class.GetClaimLimits().NamespaceSelector); err != nil {
		return p.refuse(ReasonInvalidSelector, "No claim may use the class: correct specTemplate.claims.namespaceSelector: %s",
			objects.Shorten(err.Error(), 300))
	}
	return flow.Next()
}

// checkNamespace has changes of namespaces watched from now on: the watch reports those that exist first, so that none is missed.
func (r *Reconciler) checkNamespace(ctx context.Context, p *pass) flow.Outcome {
	of := corev1.SchemeGroupVersion.WithKind("Namespace")
	naming := func(class client.Object) string { return class.(resource.Class).GetWriteConnectionSecretsToNamespace() }
	if err := r.watches.Watch(of, objects.Metadata(of), r.enqueue(named(naming))); err != nil {
		return flow.Failed("", fmt.Errorf("watching namespaces: %w", err))
	}
	namespace, name := objects.Metadata(of), naming(p.class)
	switch err := r.client.Get(ctx, types.NamespacedName{Name: name}, namespace); {
	case apierrors.IsNotFound(err):
		return p.refuse(failure.ConnectionSecretUnavailable, "Namespace %q for the connection Secrets does not exist: create it, or name another "+
			"one in specTemplate.writeConnectionSecretsToNamespace", name)
	case err != nil:
		return flow.Failed("", fmt.Errorf("reading namespace: %w", err))
	case meta.WasDeleted(namespace):
		return p.refuse(failure.ConnectionSecretUnavailable, "Namespace %q for the connection Secrets is being deleted: create it again after "+
			"that, or name another one in specTemplate.writeConnectionSecretsToNamespace", name)
	}
	return flow.Next()
}

// checkKind checks the kind that a class names, and its template.
func (r *Reconciler) checkKind(ctx context.Context, p *pass) flow.Outcome {
	if r.kinds == nil {
		return flow.Next()
	}
	err := r.kinds.CheckClass(ctx, r.client, p.class)
	if wrong, ok := errors.AsType[*failure.Error](err); ok {
		return p.refuse(xpv1.ConditionReason(wrong.Reason), "%s", wrong.Message)
	}
	return flow.FailedTo("checking the template", "", err)
}

// configOf returns an empty ProviderConfig of the kind that managed resources of a class use, nil if there is none. One without a Go type is
// watched from now on.
func (r *Reconciler) configOf(class resource.Class) (resource.ProviderConfig, error) {
	of, ok := class.(resource.KindedClass)
	switch {
	case r.kinds != nil && ok:
		kind := of.GetManagedKind().GroupVersion().WithKind(xpv1.ProviderConfigKind)
		config, inGroup := unstructured.NewProviderConfig(kind), func(class, o client.Object) bool {
			return class.(resource.KindedClass).GetManagedKind().Group == kind.Group && resource.ProviderConfigName(class) == o.GetName()
		}
		return config, r.watches.Watch(kind, unstructured.Plain(config), whenReadinessChanges(r.enqueue(inGroup)))
	case r.configs.Empty():
		return nil, nil
	}
	return objects.MustNew[resource.ProviderConfig](r.scheme, r.configs), nil
}

// whenReadinessChanges leaves out the events that changesReadiness does.
func whenReadinessChanges(h handler.EventHandler) handler.EventHandler {
	return handler.Funcs{CreateFunc: h.Create, DeleteFunc: h.Delete,
		UpdateFunc: func(ctx context.Context, e ctrlevent.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if changesReadiness(e) {
				h.Update(ctx, e, q)
			}
		}}
}

func (r *Reconciler) checkConfig(ctx context.Context, p *pass) flow.Outcome {
	p.ready = xpv1.Available()
	config, err := r.configOf(p.class)
	if config == nil || err != nil {
		return flow.FailedTo("watching ProviderConfigs", "", err)
	}
	name, kind := resource.ProviderConfigName(p.class), strings.ToLower(xpv1.ProviderConfigKind+"."+r.configs.Group)
	if r.kinds != nil {
		kind = strings.ToLower(config.GetObjectKind().GroupVersionKind().GroupKind().String())
	}
	err = r.client.Get(ctx, types.NamespacedName{Name: name}, config)
	ready := config.GetCondition(xpv1.TypeReady)
	switch {
	case apierrors.IsNotFound(err):
		return p.refuse(failure.ProviderConfigUnavailable, "%s %q does not exist: create it, or name another one in "+
			"specTemplate.providerConfigRef", xpv1.ProviderConfigKind, name)
	case err != nil:
		return flow.Failed("", fmt.Errorf("reading %s: %w", xpv1.ProviderConfigKind, err))
	case meta.WasDeleted(config):
		return p.refuse(failure.ProviderConfigUnavailable, "%s %q is being deleted: name another one in specTemplate.providerConfigRef",
			xpv1.ProviderConfigKind, name)
	case ready.Status == corev1.ConditionFalse:
		return p.refuse(ready.Reason, "%[1]s %[2]q is not ready, and its condition Ready has the cause: bowline why %[3]s/%[2]s", xpv1.ProviderConfigKind, name, kind)
	case ready.Status == corev1.ConditionUnknown: // its first pass will wake the class
		p.ready = xpv1.Condition{}
	}
	return flow.Next()
}
