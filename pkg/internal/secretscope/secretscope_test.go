// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package secretscope

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
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
	meta := func(namespace string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: "login"}
	}
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
	scope, err := New(t.Context(), mine.Config, mine.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	scope.Limit(&o)
	var c client.Client
	var live client.Reader
	controlplanetest.RunManager(t, mine.Config, o, func(mgr manager.Manager) error {
		c, live = mgr.GetClient(), scope.Reader(mgr.GetAPIReader(), mgr.GetScheme())
		return scope.AddTo(mgr)
	})
	get := func(namespace string, o client.Object) func(context.Context) error {
		return func(ctx context.Context) error {
			return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "login"}, o)
		}
	}
	mine.Eventually(t, "the Secret is read", get(mine.Namespace, &corev1.Secret{}))
	if err := get(other.Namespace, &corev1.Secret{})(t.Context()); !apierrors.IsForbidden(err) {
		t.Errorf("reading a Secret of another namespace: %v", err)
	}
	mine.Eventually(t, "a ConfigMap is read", get(other.Namespace, &corev1.ConfigMap{}))
	metadata := func() *metav1.PartialObjectMetadataList {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		return list
	}
	for name, r := range map[string]client.Reader{"the client": c, "the reader without a cache": live} {
		if err := r.List(t.Context(), &corev1.SecretList{}, client.InNamespace(other.Namespace)); !apierrors.IsForbidden(err) {
			t.Errorf("%s lists Secrets of another namespace: %v", name, err)
		}
		if err := r.List(t.Context(), metadata(), client.InNamespace(other.Namespace)); !apierrors.IsForbidden(err) {
			t.Errorf("%s lists the metadata of Secrets of another namespace: %v", name, err)
		}
		all := &corev1.SecretList{}
		if err := r.List(t.Context(), all, client.Limit(1)); err != nil || len(all.Items) != 1 || all.Items[0].Namespace != mine.Namespace {
			t.Errorf("%s lists %d Secrets of all namespaces: %v", name, len(all.Items), err)
		}
	}
}

// A namespace without rights is left out, and the process is not ready. With rights in none it does not start.
func TestRefusedNamespaces(t *testing.T) {
	t.Parallel()
	mine, other := controlplanetest.New(t), controlplanetest.New(t)
	const user = "secretscope"
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch", "get"}}
	for _, o := range []client.Object{
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: mine.Namespace, Name: user}, Rules: []rbacv1.PolicyRule{rule}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: mine.Namespace, Name: user},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		},
	} {
		if err := mine.Client.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	mine.InForce(t, user, mine.Namespace, rule)
	config := rest.CopyConfig(mine.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	scope, err := New(t.Context(), config, mine.Namespace, other.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]string{{mine.Namespace}, {other.Namespace}}, [][]string{scope.usable, scope.refused}); diff != "" {
		t.Errorf("usable and refused (-want +got):\n%s", diff)
	}
	if _, err := New(t.Context(), config, mine.Namespace, ""); err == nil {
		t.Error("a scope with a namespace without a name was made")
	}
	if _, err := New(t.Context(), config, other.Namespace); err == nil {
		t.Error("a scope without usable namespaces was made")
	}
}
