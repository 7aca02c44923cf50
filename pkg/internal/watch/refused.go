// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
)

// Refused enqueues the objects of a controller that cannot be served because of their namespace, a quota in it, or a Secret of another
// owner that has the name of theirs, once that changes. Its watches begin with the first such object; those of namespaces and
// Secrets are of metadata.
type Refused struct {
	needs   *Needs
	watches *OnDemand
	secrets Secrets
	queue   workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// NewRefused returns Refused for the controller of the two, which enqueues nothing before Source is started.
func NewRefused(n *Needs, w *OnDemand) *Refused { return &Refused{needs: n, watches: w} }

// Source returns a source for the controller of the objects.
func (r *Refused) Source(mgr manager.Manager) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		r.queue = queue
		return r.secrets.Begin(ctx, mgr)
	})
}

// AwaitNamespace has the refused objects of a namespace enqueued when its labels change, among others.
func (r *Refused) AwaitNamespace() error {
	of := corev1.SchemeGroupVersion.WithKind("Namespace")
	return r.await(of, objects.Metadata(of), handler.EnqueueRequestsFromMapFunc(r.in))
}

// A SecretOwner has a copy of a connection Secret in its namespace.
type SecretOwner interface {
	client.Object
	GetWriteConnectionSecretToReference() *xpv1.LocalSecretReference
}

// AwaitSecret has an object enqueued that cannot have its Secret because of an error: when a quota of its namespace leaves more room, since
// no field of the error shows that it is the cause, or when the Secret that has the name changes.
func (r *Refused) AwaitSecret(because error, o SecretOwner) error {
	if apierrors.IsForbidden(because) {
		return r.await(corev1.SchemeGroupVersion.WithKind("ResourceQuota"), &corev1.ResourceQuota{}, r.moreRoom())
	}
	secret := types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetWriteConnectionSecretToReference().Name}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
	r.secrets.Await(secret, AnyVersion, request, func() { r.queue.Add(request) })
	return nil
}

// await watches objects of a kind. It reports all that exist first, so that no change is missed.
func (r *Refused) await(of schema.GroupVersionKind, like client.Object, h handler.EventHandler) error {
	if err := r.watches.Watch(of, like, h); err != nil {
		return fmt.Errorf("watching %s: %w", of.Kind, err)
	}
	return nil
}

// moreRoom enqueues the refused objects of a namespace when a quota there leaves room for more Secrets: a quota changes with each object
// that it counts. They are enqueued once more, since the quotas by which the API server refuses may be a moment older.
func (r *Refused) moreRoom() handler.EventHandler {
	enqueue := handler.EnqueueRequestsFromMapFunc(r.in)
	return handler.Funcs{
		CreateFunc: enqueue.Create,
		DeleteFunc: enqueue.Delete,
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			if before, after := e.ObjectOld.(*corev1.ResourceQuota), e.ObjectNew.(*corev1.ResourceQuota); leavesMore(before, after) {
				for _, request := range r.in(ctx, after) {
					q.Add(request)
					q.AddAfter(request, time.Second)
				}
			}
		},
	}
}

// leavesMore is true if Secrets that one of two states of a quota refused may be permitted by the later one.
func leavesMore(before, after *corev1.ResourceQuota) bool {
	for _, secrets := range []corev1.ResourceName{corev1.ResourceSecrets, "count/secrets"} {
		if room(after, secrets) > room(before, secrets) {
			return true
		}
	}
	return false
}

// room is how many objects a quota permits beside those that exist.
func room(q *corev1.ResourceQuota, of corev1.ResourceName) int64 {
	limit, limited := q.Status.Hard[of]
	used, counted := q.Status.Used[of]
	_, wanted := q.Spec.Hard[of]
	switch {
	case limited && counted:
		return limit.Value() - used.Value()
	case limited, wanted: // refused until they are counted
		return math.MinInt64
	default:
		return math.MaxInt64
	}
}

// in returns requests for the objects that are refused, or may just have been, in a namespace or in that of a quota.
func (r *Refused) in(ctx context.Context, o client.Object) (requests []reconcile.Request) {
	n, namespace := r.needs, client.InNamespace(cmp.Or(o.GetNamespace(), o.GetName()))
	all, err := objects.List[flow.Object](ctx, n.Client, n.Client.Scheme(), n.Kind, namespace, client.UnsafeDisableDeepCopy)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot list objects", "kind", n.Kind.GroupKind().String(), "namespace", string(namespace))
	}
	for _, one := range all {
		if xpv1.FailureOf(one).Stalled || one.GetCondition(xpv1.TypeReady).Reason == "" {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(one)})
		}
	}
	return requests
}
