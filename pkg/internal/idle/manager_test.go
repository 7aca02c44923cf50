// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package idle_test

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/internal/idle"
)

func TestControllerBeginsWithTheFirstObject(t *testing.T) {
	configs, secrets := corev1.SchemeGroupVersion.WithKind("ConfigMap"), corev1.SchemeGroupVersion.WithKind("Secret")
	unknown := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "NotInstalled"}
	for name, tc := range map[string]struct {
		kinds  []schema.GroupVersionKind
		used   string // that gets an object
		begins bool
	}{
		"no kind has objects (N83)":       {kinds: []schema.GroupVersionKind{configs, secrets}},
		"the first kind has some (N83)":   {kinds: []schema.GroupVersionKind{configs, secrets}, used: "configmaps", begins: true},
		"the second kind has some (N83)":  {kinds: []schema.GroupVersionKind{configs, secrets}, used: "secrets", begins: true},
		"another kind has some (N83)":     {kinds: []schema.GroupVersionKind{configs}, used: "secrets"},
		"one kind is not installed (N83)": {kinds: []schema.GroupVersionKind{configs, unknown}, begins: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := controlplanetest.New(t, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "object"}})
			channels := map[string]chan struct{}{"configmaps": make(chan struct{}), "secrets": make(chan struct{})}
			passes := map[string]chan struct{}{"waiting": make(chan struct{}, 1), "other": make(chan struct{}, 1)}
			o := manager.Options{Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{env.Namespace: {}}}}
			stop := controlplanetest.RunManager(t, env.Config, o, func(mgr manager.Manager) error {
				used := func(_ context.Context, kind schema.GroupResource) <-chan struct{} { return channels[kind.Resource] }
				control := func(name string, by manager.Manager) error {
					return ctrl.NewControllerManagedBy(by).Named(name).For(&corev1.ConfigMap{}).
						Complete(reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
							select {
							case passes[name] <- struct{}{}:
							default:
							}
							return reconcile.Result{}, nil
						}))
				}
				return errors.Join(control("waiting", idle.Manager(mgr, used, tc.kinds...)), control("other", mgr))
			})
			<-passes["other"]
			if used, ok := channels[tc.used]; ok {
				close(used)
			}
			if tc.begins {
				<-passes["waiting"]
			}
			stop()
			select {
			case <-passes["waiting"]:
				if !tc.begins {
					t.Error("the controller began")
				}
			default:
			}
		})
	}
}
