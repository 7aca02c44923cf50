// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package copies

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/internal/flow"
	"github.com/bowline-dev/bowline/pkg/internal/objects"
	"github.com/bowline-dev/bowline/pkg/internal/queue"
	"github.com/bowline-dev/bowline/pkg/internal/watch"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// ControllerName is the name of the controller that SetupWithManager adds.
const ControllerName = "connectionsecret"

const (
	// workers let all passwords of a large installation change at once.
	workers = 10
	// maxBackoff bounds the retries of a failed pass. Whatever may help enqueues the copy earlier.
	maxBackoff = 10 * time.Minute
	// lostInterval is how often a copy that keeps what its source lost is reconciled without an event.
	lostInterval = time.Minute
)

// A Reconciler keeps copies in step with their sources (A67).
type Reconciler struct {
	client client.Client
	live   client.Reader // not cached, for what is to be written
	claims *watch.Claims
	log    logr.Logger
}

// NewReconciler returns a reconciler whose requests name copies, whatever the kinds of the claims and managed resources are that
// control the Secrets.
func NewReconciler(mgr manager.Manager) *Reconciler {
	return &Reconciler{
		client: mgr.GetClient(),
		live:   mgr.GetAPIReader(),
		claims: watch.NewClaims(mgr),
		log:    mgr.GetLogger().WithValues("controller", ControllerName),
	}
}

// SetupWithManager adds one controller to the manager for the copies of all kinds (R7). One is enough for a cluster; of several
// processes all but one have nothing to do.
func (r *Reconciler) SetupWithManager(mgr manager.Manager) error {
	sources := resource.NewPredicates(resource.IsPropagator())
	sources.DeleteFunc = func(event.DeleteEvent) bool { return false } // a copy outlives its source as it is (R293)
	return builder.ControllerManagedBy(mgr).
		Named(ControllerName).
		Watches(&corev1.Secret{}, &resource.EnqueueRequestForPropagated{}, builder.WithPredicates(sources)).
		For(&corev1.Secret{}, builder.WithPredicates(resource.NewPredicates(resource.IsPropagated()))).
		WatchesRawSource(source.Func(r.enqueueForTemplates)).
		WithOptions(queue.Options(mgr, ControllerName, workers, flow.ConflictDelay, maxBackoff)).
		Complete(r)
}

// enqueueForTemplates enqueues the copies of claims whose templates change.
func (r *Reconciler) enqueueForTemplates(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	r.claims.Notify(func(before, claim *metav1.PartialObjectMetadata) {
		if before != nil && templates(before) == templates(claim) {
			return
		}
		secrets := &corev1.SecretList{}
		if err := r.client.List(ctx, secrets, client.InNamespace(claim.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			r.log.Error(err, "Cannot find the Secrets of a claim", "claim", client.ObjectKeyFromObject(claim))
		}
		for i := range secrets.Items {
			if of := metav1.GetControllerOfNoCopy(&secrets.Items[i]); of != nil && of.UID == claim.UID {
				q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&secrets.Items[i])})
			}
		}
	})
	return nil
}

func templates(claim *metav1.PartialObjectMetadata) string {
	return claim.Annotations[connection.AnnotationKeyConnectionKeys]
}

// A pass is what the steps of one pass over a copy learn.
type pass struct {
	to, from  *corev1.Secret
	data      map[string][]byte
	uncertain error // about the claim, on which some keys depend
}

// Reconcile gives one copy the data that it should have. A Secret that is no copy, that no object controls, or that its source does
// not consent to, stays as it is (R288, R289).
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	p := &pass{to: &corev1.Secret{}}
	if err := r.client.Get(ctx, req.NamespacedName, p.to); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	_, propagated := meta.PropagatedFrom(p.to)
	taken := metav1.GetControllerOf(p.to) == nil // by the team, to keep it
	if !propagated || taken || p.to.Type != xpv1.SecretTypeConnection || meta.WasDeleted(p.to) {
		return reconcile.Result{}, nil
	}
	return flow.Run(ctx, p, r.derive, r.keepLost, r.write).Result(lostInterval)
}

// derive finds the data that the copy should have. The API server confirms what the cache knows before anything is written.
func (r *Reconciler) derive(ctx context.Context, p *pass) flow.Outcome {
	for _, v := range []view{{r.client, r.claims.ControllerOf}, {r.live, r.claims.LiveControllerOf}} {
		var err error
		if p.from, err = v.source(ctx, p.to); err != nil {
			return flow.Failed("", err)
		} else if p.from == nil {
			r.log.V(1).Info("Secret is not copied because its source does not consent", "secret", client.ObjectKeyFromObject(p.to))
			return flow.Vanished()
		}
		if p.data, p.uncertain = v.content(ctx, p.from, p.to); equal(p.data, p.to.Data) {
			break
		}
	}
	return flow.Next()
}

// keepLost ends the pass if the copy would lose a key that the source lacks and that only the creation of the external resource
// returned (N42). Only where a copy would lose any is the managed resource read. One that is gone may have returned it.
func (r *Reconciler) keepLost(ctx context.Context, p *pass) flow.Outcome {
	owner := metav1.GetControllerOf(p.from)
	losing := connection.Missing(&corev1.Secret{Data: p.data}, slices.Collect(maps.Keys(p.to.Data)))
	if owner == nil || len(losing) == 0 {
		return flow.Next()
	}
	mg := objects.Metadata(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
	err := r.live.Get(ctx, client.ObjectKey{Namespace: p.from.Namespace, Name: owner.Name}, mg)
	gone := objects.IsAbsent(err) || err == nil && mg.UID != owner.UID
	switch {
	case err != nil && !gone:
		return flow.Failed("", fmt.Errorf("reading the managed resource whose source %s lost keys: %w", client.ObjectKeyFromObject(p.from), err))
	case gone, slices.ContainsFunc(connection.CreatedKeys(mg), func(key string) bool { return slices.Contains(losing, key) }):
		return flow.Await(lostInterval, "")
	}
	return flow.Next()
}

// write changes the data of the copy if it differs, and nothing else (R17, R295).
func (r *Reconciler) write(ctx context.Context, p *pass) flow.Outcome {
	if !equal(p.data, p.to.Data) {
		_, err := objects.Patch(ctx, r.client, p.to, func(s *corev1.Secret) { s.Data = p.data })
		if apierrors.IsNotFound(err) {
			return flow.Vanished()
		} else if err != nil {
			return flow.Written("", fmt.Errorf("writing secret %s: %w", client.ObjectKeyFromObject(p.to), err))
		}
	}
	return flow.Written("", p.uncertain)
}

// A view reads from the cache, which costs nothing, or from the API server.
type view struct {
	secrets client.Reader
	claim   func(context.Context, client.Object) (*metav1.PartialObjectMetadata, error)
}

// source returns the Secret that both sides agree is the source of a copy, nil if they do not. A source that is itself a copy does
// not count, so that Secrets cannot run in circles.
func (v view) source(ctx context.Context, to *corev1.Secret) (*corev1.Secret, error) {
	named, _ := meta.PropagatedFrom(to)
	from := &corev1.Secret{}
	if err := v.secrets.Get(ctx, named.NamespacedName, from); err != nil {
		return nil, fmt.Errorf("reading source %s of secret %s: %w", named.NamespacedName, client.ObjectKeyFromObject(to), err)
	}
	_, copied := meta.PropagatedFrom(from)
	if copied || from.Type != xpv1.SecretTypeConnection || !meta.PropagationAllowed(from, to) {
		return nil, nil
	}
	return from, nil
}

// content returns the data of a copy. If its claim cannot be read, the keys that only the claim determines stay, and the error is
// returned. Mistakes in templates are reported on the claim by its own controller.
func (v view) content(ctx context.Context, from, to *corev1.Secret) (map[string][]byte, error) {
	claim, err := v.claim(ctx, to)
	if err != nil {
		data := map[string][]byte{}
		maps.Copy(data, to.Data)
		maps.Copy(data, connection.InUse(from.Data))
		return data, fmt.Errorf("reading the claim of secret %s: %w", client.ObjectKeyFromObject(to), err)
	}
	data, _ := connection.Content(claim, from.Data)
	return data, nil
}
