// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/connection"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// name begins the names of all controllers of Secrets.
const name = "connectionsecret"

// conflictDelay is when to look again where somebody wrote first.
const conflictDelay = 100 * time.Millisecond

// ControllerName is the name of a controller for the Secrets of one managed kind, in lower case:
// connectionsecret.<managed kind>.<group> (R13).
func ControllerName(of resource.ManagedKind) string {
	return strings.ToLower(name + "." + schema.GroupVersionKind(of).GroupKind().String())
}

// A Reconciler copies the data of Secrets to others (A67).
type Reconciler struct {
	client client.Client
	live   client.Reader // past the cache, for what is to be written
	claims *claims
	log    logr.Logger
}

// An Option changes one thing about a Reconciler.
type Option func(*Reconciler)

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) Option {
	return func(r *Reconciler) { r.log = l }
}

// NewReconciler returns a reconciler whose requests name destinations, of whatever kinds the claims and managed resources
// are that control the Secrets.
func NewReconciler(mgr manager.Manager, o ...Option) *Reconciler {
	r := &Reconciler{
		client: mgr.GetClient(),
		live:   mgr.GetAPIReader(),
		claims: newClaims(mgr),
		log:    mgr.GetLogger().WithValues("controller", name),
	}
	for _, apply := range o {
		apply(r)
	}
	return r
}

// Reconcile gives one destination the data that it should have. A Secret that is no destination, that no object
// controls, or that its source does not agree to, is left alone (R288, R289).
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	to := &corev1.Secret{}
	if err := r.client.Get(ctx, req.NamespacedName, to); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if _, propagated := meta.PropagatedFrom(to); !propagated || to.Type != xpv1.SecretTypeConnection || meta.WasDeleted(to) {
		return reconcile.Result{}, nil
	}
	if metav1.GetControllerOf(to) == nil { // its holder took it from the claim, to keep it
		return reconcile.Result{}, nil
	}
	var data map[string][]byte
	var unsure error // something is not known that the data depends on
	for _, v := range []view{{r.client, r.claims.cached}, {r.live, r.claims.live}} {
		from, err := v.source(ctx, to)
		if err != nil {
			return reconcile.Result{}, err
		}
		if from == nil {
			r.log.V(1).Info("Secret is not copied, since its source does not agree", "secret", req.NamespacedName)
			return reconcile.Result{}, nil
		}
		data, unsure = v.content(ctx, from, to)
		if maps.EqualFunc(data, to.Data, bytes.Equal) {
			return reconcile.Result{}, unsure
		}
	}
	result, err := r.write(ctx, to, data)
	if err == nil {
		err = unsure
	}
	return result, err
}

// write stores the data, unless somebody wrote to the Secret since it was read (R17). Nothing but data changes (R295).
func (r *Reconciler) write(ctx context.Context, to *corev1.Secret, data map[string][]byte) (reconcile.Result, error) {
	changed := to.DeepCopy()
	changed.Data = data
	err := r.client.Patch(ctx, changed, client.MergeFromWithOptions(to, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsNotFound(err): // it went away meanwhile
		return reconcile.Result{}, nil
	case apierrors.IsConflict(err):
		return reconcile.Result{RequeueAfter: conflictDelay}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("writing secret %s: %w", client.ObjectKeyFromObject(to), err)
	}
	r.log.V(1).Info("Secret is in step with its source again", "secret", client.ObjectKeyFromObject(to))
	return reconcile.Result{}, nil
}

// A view is a way to look at the world: the cache's, which costs nothing, or the API server's.
type view struct {
	secrets client.Reader
	claim   claimReader
}

// source returns the Secret that both sides agree is the destination's source, or nil if they do not. A source that is
// itself a copy is none, so that Secrets cannot run in circles.
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

// content returns the data that the destination should have. If its claim cannot be read the keys stay that only the claim
// can tell of, and the error says why.
func (v view) content(ctx context.Context, from, to *corev1.Secret) (map[string][]byte, error) {
	claim, err := v.claim(ctx, to)
	if err != nil {
		data := map[string][]byte{}
		maps.Copy(data, to.Data)
		maps.Copy(data, from.Data)
		return data, fmt.Errorf("reading the claim of secret %s: %w", client.ObjectKeyFromObject(to), err)
	}
	data, _ := connection.Content(claim, from.Data) // what is wrong with templates is told by the claim's own controller
	return data, nil
}
