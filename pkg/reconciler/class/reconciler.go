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
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
)

// A Reconciler writes condition Ready of the classes of one kind.
type Reconciler struct {
	client  client.Client
	scheme  *runtime.Scheme
	kind    schema.GroupVersionKind
	configs schema.GroupVersionKind // empty for none
	watches watch.OnDemand
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithProviderConfigs sets the kind of ProviderConfigs that managed resources of the classes use. Default: none.
func WithProviderConfigs(kind schema.GroupVersionKind) Option {
	return func(r *Reconciler) { r.configs = kind }
}

// NewReconciler returns a reconciler for classes of the given kind, which must be in the manager's scheme with its list, and satisfy
// resource.Class and resource.Conditioned.
func NewReconciler(mgr manager.Manager, of resource.ClassKind, o ...Option) *Reconciler {
	r := &Reconciler{client: mgr.GetClient(), scheme: mgr.GetScheme(), kind: schema.GroupVersionKind(of)}
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

// Reasons explains the reasons of condition Ready that no other kind has.
func Reasons() []event.Explanation {
	return []event.Explanation{
		event.Explain(event.Reason(ReasonInvalidSelector), "The namespace selector of the class cannot be read, so that no claim may use the class.",
			"Correct specTemplate.claims.namespaceSelector."),
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
		b = b.Watches(objects.MustNew[resource.ProviderConfig](r.scheme, r.configs), r.enqueue(resource.ProviderConfigName),
			builder.WithPredicates(predicate.Funcs{UpdateFunc: changesReadiness}))
	}
	return r.watches.Build(mgr, b, r)
}

// changesReadiness leaves out updates of a ProviderConfig that change nothing about its classes, as those of its number of users.
func changesReadiness(e ctrlevent.UpdateEvent) bool {
	before, after := e.ObjectOld.(resource.ProviderConfig), e.ObjectNew.(resource.ProviderConfig)
	return meta.WasDeleted(before) != meta.WasDeleted(after) ||
		!flow.Same(before.GetCondition(xpv1.TypeReady), after.GetCondition(xpv1.TypeReady))
}

// enqueue returns a handler that enqueues the classes that name the object of an event.
func (r *Reconciler) enqueue(nameIn func(class client.Object) string) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) (requests []reconcile.Request) {
		classes, err := objects.List[resource.Class](ctx, r.client, r.scheme, r.kind, client.UnsafeDisableDeepCopy)
		if err != nil {
			log.FromContext(ctx).Error(err, "Cannot list classes", "kind", r.kind.GroupKind().String())
		}
		for _, class := range classes {
			if nameIn(class) == o.GetName() {
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
	o := flow.Run(ctx, p, r.checkSelector, r.checkNamespace, r.checkConfig)
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
	if err := r.watches.Watch(of, objects.Metadata(of), r.enqueue(naming)); err != nil {
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

func (r *Reconciler) checkConfig(ctx context.Context, p *pass) flow.Outcome {
	if p.ready = xpv1.Available(); r.configs.Empty() {
		return flow.Next()
	}
	config, name := objects.MustNew[resource.ProviderConfig](r.scheme, r.configs), resource.ProviderConfigName(p.class)
	err := r.client.Get(ctx, types.NamespacedName{Name: name}, config)
	ready := config.GetCondition(xpv1.TypeReady)
	switch {
	case apierrors.IsNotFound(err):
		return p.refuse(failure.ProviderConfigUnavailable, "%s %q does not exist: create it, or name another one in "+
			"specTemplate.providerConfigRef", r.configs.Kind, name)
	case err != nil:
		return flow.Failed("", fmt.Errorf("reading %s: %w", r.configs.Kind, err))
	case meta.WasDeleted(config):
		return p.refuse(failure.ProviderConfigUnavailable, "%s %q is being deleted: name another one in specTemplate.providerConfigRef",
			r.configs.Kind, name)
	case ready.Status == corev1.ConditionFalse:
		return p.refuse(ready.Reason, "%[1]s %[2]q is not ready, and its condition Ready has the cause: bowline why %[3]s/%[2]s", r.configs.Kind, name,
			strings.ToLower(r.configs.GroupKind().String()))
	case ready.Status == corev1.ConditionUnknown: // its first pass will wake the class
		p.ready = xpv1.Condition{}
	}
	return flow.Next()
}
