// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/test/bench/apis/crds"
	v1 "github.com/bowline-dev/bowline/test/bench/apis/v1"
)

// CRDs returns the definition of Server.
func CRDs() ([]*apiextensionsv1.CustomResourceDefinition, error) { return crd.Load(crds.FS) }

// Setup returns what adds the controller of Servers in a cloud to a manager, as other providers do. Workers is how many
// objects it reconciles at once.
func Setup(cloud *Cloud, workers int) func(ctrl.Manager, ...managed.ReconcilerOption) error {
	return func(mgr ctrl.Manager, o ...managed.ReconcilerOption) error {
		r := managed.NewReconciler(mgr, resource.ManagedKind(v1.GroupVersionKind), append([]managed.ReconcilerOption{
			managed.WithTypedExternalConnecter(cloud),
		}, o...)...)
		return ctrl.NewControllerManagedBy(mgr).
			Named(managed.ControllerName(v1.GroupVersionKind.GroupKind())).
			For(&v1.Server{}).
			WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
			Complete(r)
	}
}

// Rules are what the controller must be allowed, besides what the runtime needs for any provider.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{v1.GroupVersionKind.Group}, Resources: []string{v1.Resource}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{v1.GroupVersionKind.Group}, Resources: []string{v1.Resource + "/status"}, Verbs: []string{"patch"}},
	}
}
