// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secret keeps the connection Secrets of claims and targets in step with those of managed resources. It is the published
// name of the controller in package connection/copies, which explains how.
//
//	return secret.NewReconciler(mgr).SetupWithManager(mgr)
//
// SetupWithManager adds one controller for the Secrets of all claims, targets and managed resources (R7). It learns the kinds of
// claims from the owner references of copies and watches their metadata, so that a changed template takes effect at once. A kind is one
// of claims if its definition has the category claim.
//
// A provider may instead add a controller for the Secrets of one managed kind, as the guides do it. It watches no claims: a changed
// template takes effect with the next change of either Secret.
//
//	p := resource.NewPredicates(resource.AnyOf(
//		resource.AllOf(resource.IsControlledByKind(v1.ClaimGroupVersionKind), resource.IsPropagated()),
//		resource.AllOf(resource.IsControlledByKind(v1.BucketGroupVersionKind), resource.IsPropagator())))
//	return builder.ControllerManagedBy(mgr).
//		Named(secret.ControllerName(resource.ManagedKind(v1.BucketGroupVersionKind))).
//		Watches(&corev1.Secret{}, &resource.EnqueueRequestForPropagated{}).
//		For(&corev1.Secret{}).
//		WithEventFilter(p).
//		Complete(secret.NewReconciler(mgr))
//
// The manager's cache should have managed.CacheOptions, so that it holds connection Secrets only (N30). The controller needs the
// verbs get, list, watch and patch on Secrets, get, list and watch on all kinds of claims, and get on the kinds of managed resources,
// which it reads only before a copy loses a key: without that permission the copy stays as it is.
package secret

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Reconciler keeps the copies of connection Secrets in step with their sources (A67).
type Reconciler = copies.Reconciler

// NewReconciler returns a reconciler whose requests name copies, whatever the kinds of the claims and managed resources are that
// control the Secrets.
func NewReconciler(mgr manager.Manager) *Reconciler { return copies.NewReconciler(mgr) }

// ControllerName is the name of a controller for the Secrets of one managed kind, in lower case:
// connectionsecret.<managed kind>.<group> (R13).
func ControllerName(of resource.ManagedKind) string {
	return strings.ToLower(copies.ControllerName + "." + schema.GroupVersionKind(of).GroupKind().String())
}
