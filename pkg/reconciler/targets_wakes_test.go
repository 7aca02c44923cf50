// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// start runs the controller of all kinds, one for items and that of Secrets as a user with the rights in the contract, until
// the test ends. Only enqueued targets are reconciled again.
func (s *targetStage) start(kinds ...resource.ManagedKind) {
	s.t.Helper()
	all := []string{"get", "list", "watch", "create", "patch", "delete"}
	access := s.as(
		rbacv1.PolicyRule{APIGroups: []string{workloadv1alpha1.Group}, Resources: []string{"kubernetestargets"}, Verbs: []string{"get", "list", "watch", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{workloadv1alpha1.Group}, Resources: []string{"kubernetestargets/status"}, Verbs: []string{"patch"}},
		rbacv1.PolicyRule{APIGroups: []string{workloadv1alpha1.Group}, Resources: []string{"kubernetesapplicationresources"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{shop.Group}, Resources: []string{"items"}, Verbs: []string{"get", "list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: all},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get", "create", "patch"}})
	options := manager.Options{Scheme: scheme(), Cache: managed.CacheOptions()}
	options.Cache.DefaultNamespaces = map[string]cache.Config{s.Namespace: {}}
	controlplanetest.RunManager(s.t, access, options, func(mgr manager.Manager) error {
		errs := []error{secret.NewReconciler(mgr).SetupWithManager(mgr)}
		for _, kind := range kinds {
			r := target.NewReconciler(mgr, targetKind, kind, target.WithRecorder(s.events))
			errs = append(errs, r.SetupWithManager(mgr))
		}
		return errors.Join(errs...)
	})
}

func (s *targetStage) has(t *testing.T, name, kubeconfig string) {
	t.Helper()
	s.Eventually(t, "secret "+name+" has "+kubeconfig, func(context.Context) error {
		if to := s.secret(name); to == nil && kubeconfig != "" || to != nil && string(to.Data["kubeconfig"]) != kubeconfig {
			return fmt.Errorf("got %v", to)
		}
		return nil
	})
}

// No target waits for a timer: everything that it waits for enqueues it. The rights that the contract names are enough for that.
func TestTargetWakes(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]resource.ManagedKind{
		"one controller for all kinds": {{}},
		"one for each kind":            {items},
		"both, which is a waste":       {{}, items},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTargetStage(t)
			s.start(kinds...)
			s.wakes(t)
		})
	}
}

func (s *targetStage) wakes(t *testing.T) {
	item := s.newItem(func(i *shop.Item) { i.Annotations = nil })
	t.Run("a managed resource that appears, agrees and publishes (R301, N27)", func(t *testing.T) {
		s.create(s.newTarget(nil))
		s.shows(s.target(), xpv1.ReasonConnecting)
		s.create(item)
		s.shows(s.target(), xpv1.ReasonNotAllowed)
		s.edit(item, func() { s.toNamespace(item) })
		s.shows(s.target(), xpv1.ReasonConnecting)
		s.publish(item)
		s.shows(s.target(), xpv1.ReasonAvailable)
		s.has(t, "kube", "hunter2")
	})
	t.Run("a change of the source, and edits of the copy (R298, R306)", func(t *testing.T) {
		from := s.secret("hidden-source")
		s.edit(from, func() { from.Data["kubeconfig"] = []byte("hunter3") })
		s.has(t, "kube", "hunter3")
		to := s.secret("kube")
		s.edit(to, func() { to.Data["kubeconfig"] = []byte("mine") })
		s.has(t, "kube", "hunter3")
	})
	t.Run("a copy that was deleted, and a source that was made to forget (R297, R298)", func(t *testing.T) {
		s.delete(s.secret("kube"))
		s.has(t, "kube", "hunter3")
		from := s.secret("hidden-source")
		s.edit(from, func() { from.Annotations = nil })
		s.Eventually(t, "they agree again", func(context.Context) error {
			if !meta.PropagationAllowed(s.secret("hidden-source"), s.secret("kube")) {
				return errors.New("they do not")
			}
			return nil
		})
	})
	t.Run("consent that is withdrawn, and given again (N27)", func(t *testing.T) {
		s.edit(item, func() { item.Annotations = nil })
		s.shows(s.target(), xpv1.ReasonNotAllowed)
		s.has(t, "kube", "")
		s.edit(item, func() { item.Annotations = map[string]string{meta.AnnotationKeyAllowedNamespaces: "*"} })
		s.shows(s.target(), xpv1.ReasonAvailable)
		s.has(t, "kube", "hunter3")
	})
	for name, of := range map[string]corev1.SecretType{"seen": xpv1.SecretTypeConnection, "taken": corev1.SecretTypeOpaque} {
		t.Run("a Secret in the way that goes, of type "+string(of)+" (R303, N30)", func(t *testing.T) {
			foreign := s.connectionSecret(name, nil)
			foreign.Type = of
			s.create(foreign)
			have := s.target()
			before := have.Spec.WriteConnectionSecretToReference.Name
			s.edit(have, func() { have.Spec.WriteConnectionSecretToReference.Name = name })
			s.shows(s.target(), failure.ConnectionSecretUnavailable)
			s.delete(foreign)
			s.shows(s.target(), xpv1.ReasonAvailable)
			s.has(t, name, "hunter3")
			s.has(t, before, "")
			s.edit(have, func() { have.Spec.WriteConnectionSecretToReference.Name = "kube" })
			s.has(t, "kube", "hunter3")
		})
	}
	t.Run("a target that goes (R302)", func(t *testing.T) {
		s.delete(s.target())
		s.has(t, "kube", "")
		s.Eventually(t, "the target is gone and the source forgot it", func(context.Context) error {
			if s.get("there", &workloadv1alpha1.KubernetesTarget{}) {
				return errors.New("it is there")
			}
			return s.checkNothing()
		})
	})
}
