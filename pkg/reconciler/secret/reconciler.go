// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/connection/copies"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Reconciler keeps the copies of connection Secrets in step with their sources (A67).
type Reconciler = copies.Reconciler

// An Option changes one thing about a Reconciler.
type Option = copies.Option

// WithLogger sets the logger. Default: the manager's.
func WithLogger(l logr.Logger) Option { return copies.WithLogger(l) }

// NewReconciler returns a reconciler whose requests name copies, whatever the kinds of the claims and managed resources are that
// control the Secrets.
func NewReconciler(mgr manager.Manager, o ...Option) *Reconciler {
	return copies.NewReconciler(mgr, o...)
}

// ControllerName is the name of a controller for the Secrets of one managed kind, in lower case:
// connectionsecret.<managed kind>.<group> (R13).
func ControllerName(of resource.ManagedKind) string {
	return strings.ToLower(copies.ControllerName + "." + schema.GroupVersionKind(of).GroupKind().String())
}
