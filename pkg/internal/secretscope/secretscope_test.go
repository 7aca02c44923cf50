// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package secretscope

import (
	"context"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// Secrets of chosen namespaces are read from the cache, others are refused without a request, and other kinds are not limited.
func TestLimit(t *testing.T) {
	t.Parallel()
	mine, other := controlplanetest.New(t), controlplanetest.New(t)
	meta := func(namespace string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: "login"} }
	for _, namespace := range []string{mine.Namespace, other.Namespace} {
		for _, o := range []client.Object{
			&corev1.Secret{ObjectMeta: meta(namespace), Type: "example.org/login"}, &corev1.ConfigMap{ObjectMeta: meta(namespace)},
		} {
			if err := mine.Client.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	o := ctrl.Options{Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.Secret{}: {Field: fields.OneTermEqualSelector("type", "example.org/login")},
	}}}
	Limit(&o, mine.Namespace)
	var c client.Client
	controlplanetest.RunManager(t, mine.Config, o, func(mgr manager.Manager) error {
		c = mgr.GetClient()
		return nil
	})
	get := func(namespace string, o client.Object) func(context.Context) error {
		return func(ctx context.Context) error { return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "login"}, o) }
	}
	mine.Eventually(t, "the Secret is read", get(mine.Namespace, &corev1.Secret{}))
	if err := get(other.Namespace, &corev1.Secret{})(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("reading a Secret of another namespace: %v", err)
	}
	mine.Eventually(t, "a ConfigMap is read", get(other.Namespace, &corev1.ConfigMap{}))
}
