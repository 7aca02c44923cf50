// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package target_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
	"github.com/bowline-dev/bowline/pkg/reconciler/target"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// start runs the controller of all kinds, one for items and that of Secrets as somebody who may do what the documents say, until
// the test ends. Only what is woken comes back.
func (s *stage) start(kinds ...resource.ManagedKind) {
	s.t.Helper()
	user := s.env.Prefix + "controllers"
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{workloadv1alpha1.Group}, Resources: []string{"kubernetestargets"}, Verbs: []string{"get", "list", "watch", "patch"}},
		{APIGroups: []string{workloadv1alpha1.Group}, Resources: []string{"kubernetestargets/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{shop.Group}, Resources: []string{"items"}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"get", "create", "patch"}},
	}
	role := &rbacv1.ClusterRole{Rules: rules}
	binding := &rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user}}
	role.Name, binding.Name = user, user
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}
	s.create(role, binding)
	s.t.Cleanup(func() {
		for _, o := range []client.Object{binding, role} {
			if err := s.env.Client.Delete(context.Background(), o); err != nil {
				s.t.Error(err)
			}
		}
	})
	s.env.InForce(s.t, user, "", rules[0])
	rc := rest.CopyConfig(s.env.Config)
	rc.Impersonate.UserName = user
	options := manager.Options{Scheme: newScheme(s.t), Cache: managed.CacheOptions()}
	options.Cache.DefaultNamespaces = map[string]cache.Config{s.env.Namespace: {}}
	controlplanetest.RunManager(s.t, rc, options, func(mgr manager.Manager) error {
		errs := []error{secret.NewReconciler(mgr).SetupWithManager(mgr)}
		for _, kind := range kinds {
			r := target.NewReconciler(mgr, targetKind(), kind, target.WithRecorder(s.events), target.WithPollInterval(time.Hour))
			errs = append(errs, r.SetupWithManager(mgr))
		}
		return errors.Join(errs...)
	})
}

// shows waits until the target has a condition Ready of the reason.
func (s *stage) shows(t *testing.T, ready xpv1.ConditionReason) {
	t.Helper()
	s.env.Eventually(t, "the target is "+string(ready), func(context.Context) error {
		if got := s.target().GetCondition(xpv1.TypeReady); got.Reason != ready {
			return fmt.Errorf("it is %s: %s", got.Reason, got.Message)
		}
		return nil
	})
}

func (s *stage) has(t *testing.T, name, kubeconfig string) {
	t.Helper()
	s.env.Eventually(t, "secret "+name+" has "+kubeconfig, func(context.Context) error {
		if to := s.secret(name); to == nil && kubeconfig != "" || to != nil && string(to.Data["kubeconfig"]) != kubeconfig {
			return fmt.Errorf("got %v", to)
		}
		return nil
	})
}

// Nobody waits for a timer: whatever a target waits for wakes it. The rights that the documents name are enough for that.
func TestWakes(t *testing.T) {
	t.Parallel()
	for name, kinds := range map[string][]resource.ManagedKind{
		"one controller for all kinds": {{}},
		"one for each kind":            {resource.ManagedKind(shop.ItemGroupVersionKind)},
		"both, which is a waste":       {{}, resource.ManagedKind(shop.ItemGroupVersionKind)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.start(kinds...)
			s.wakes(t)
		})
	}
}

func (s *stage) wakes(t *testing.T) {
	item := s.newItem(func(i *shop.Item) { i.Annotations = nil })
	t.Run("a managed resource that appears, agrees and publishes (R301, N27)", func(t *testing.T) {
		s.create(s.newTarget(nil))
		s.shows(t, xpv1.ReasonConnecting)
		s.create(item)
		s.shows(t, xpv1.ReasonNotAllowed)
		s.edit(item, func() { item.Annotations = map[string]string{meta.AnnotationKeyAllowedNamespaces: s.env.Namespace} })
		s.shows(t, xpv1.ReasonConnecting)
		s.publish(item)
		s.shows(t, xpv1.ReasonAvailable)
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
	t.Run("a copy that somebody deleted, and a source that was made to forget (R297, R298)", func(t *testing.T) {
		s.delete(s.secret("kube"))
		s.has(t, "kube", "hunter3")
		from := s.secret("hidden-source")
		s.edit(from, func() { from.Annotations = nil })
		s.env.Eventually(t, "they agree again", func(context.Context) error {
			if !meta.PropagationAllowed(s.secret("hidden-source"), s.secret("kube")) {
				return errors.New("they do not")
			}
			return nil
		})
	})
	t.Run("consent that is withdrawn, and given again (N27)", func(t *testing.T) {
		s.edit(item, func() { item.Annotations = nil })
		s.shows(t, xpv1.ReasonNotAllowed)
		s.has(t, "kube", "")
		s.edit(item, func() { item.Annotations = map[string]string{meta.AnnotationKeyAllowedNamespaces: "*"} })
		s.shows(t, xpv1.ReasonAvailable)
		s.has(t, "kube", "hunter3")
	})
	t.Run("a Secret in the way that goes (R303)", func(t *testing.T) {
		foreign := s.publishForeign("taken")
		have := s.target()
		s.edit(have, func() { have.Spec.WriteConnectionSecretToReference.Name = "taken" })
		s.shows(t, xpv1.ReasonConnecting)
		s.delete(foreign)
		s.shows(t, xpv1.ReasonAvailable)
		s.has(t, "taken", "hunter3")
		s.has(t, "kube", "")
	})
	t.Run("a target that goes (R302)", func(t *testing.T) {
		s.delete(s.target())
		s.has(t, "taken", "")
		s.env.Eventually(t, "the target is gone and the source forgot it", func(context.Context) error {
			if s.get("there", &workloadv1alpha1.KubernetesTarget{}) {
				return errors.New("it is there")
			}
			return s.checkNothing()
		})
	})
}
