// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimbinding"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimdefaulting"
	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// addClaims adds the controllers of claim kinds, classes, targets and Secrets, with their documented names (N21).
func (s *Setup) addClaims() error {
	for _, c := range s.layout.claims {
		if err := claim.NewReconciler(s.mgr, resource.ClaimKind(c.gvk)).SetupWithManager(s.mgr); err != nil {
			return err
		}
	}
	for _, c := range s.layout.classes {
		if !s.installed(c.claim.gvk) {
			continue
		}
		if err := SetupClass(s.mgr, resource.ClaimKind(c.claim.gvk), resource.ClassKind(c.class.gvk), resource.ManagedKind(c.managed.gvk),
			c.Configurators...); err != nil {
			return fmt.Errorf("class %s for claims of kind %s: %w", c.class.gvk.GroupKind(), c.claim.gvk.GroupKind(), err)
		}
	}
	for _, t := range s.layout.targets { // for managed resources of any kind
		if err := target.NewReconciler(s.mgr, resource.TargetKind(t.gvk), resource.ManagedKind{}).SetupWithManager(s.mgr); err != nil {
			return err
		}
	}
	if s.layout.provider.PropagatesSecrets {
		return secret.NewReconciler(s.mgr).SetupWithManager(s.mgr)
	}
	return nil
}

// installed is true if the API server serves a claim kind. A provider works without (R3).
func (s *Setup) installed(claims schema.GroupVersionKind) bool {
	_, err := s.mgr.GetRESTMapper().RESTMapping(claims.GroupKind(), claims.Version)
	if meta.IsNoMatchError(err) {
		s.mgr.GetLogger().Info("Claims are not served because their kind is not installed: install the definitions of the core and restart",
			"provider", s.layout.provider.Name, "claims", claims.GroupKind().String())
		return false
	}
	return true // other errors are reported by the controllers
}

// SetupClass adds all controllers for a claim, a class and a managed kind to a manager: scheduling, defaulting and binding. The
// kinds must be in the manager's scheme and installed. Provider.SetupWithManager calls it for each of its Classes.
func SetupClass(mgr ctrl.Manager, of resource.ClaimKind, by resource.ClassKind, with resource.ManagedKind,
	configurators ...claimbinding.ManagedConfigurator) error {
	if err := claimscheduling.NewReconciler(mgr, of, by).SetupWithManager(mgr); err != nil {
		return err
	}
	if err := claimdefaulting.NewReconciler(mgr, of, by).SetupWithManager(mgr); err != nil {
		return err
	}
	all := append([]claimbinding.ManagedConfigurator{claimbinding.NewObjectMetaConfigurator(mgr.GetScheme())}, configurators...)
	return claimbinding.NewReconciler(mgr, of, by, with, claimbinding.WithManagedConfigurators(all...)).SetupWithManager(mgr)
}
