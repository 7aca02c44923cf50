// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplanetest_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m, widgets())) }

// widgets is a namespaced kind with a size and a status.
func widgets() *apiextensionsv1.CustomResourceDefinition {
	group := schema.GroupVersion{Group: "env.test.bowline.dev", Version: "v1"}
	return kinds.Definition(group, "Widget", apiextensionsv1.NamespaceScoped)
}

func widget(name, phase string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "env.test.bowline.dev/v1", "kind": "Widget",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"size": int64(1)},
		"status":   map[string]any{"phase": phase},
	}}
}

func TestNew(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t, widget("a", "Running"), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}})

	got := widget("a", "")
	if err := env.Client.Get(t.Context(), client.ObjectKey{Namespace: env.Namespace, Name: "a"}, got); err != nil {
		t.Fatal(err)
	}
	if phase, _, _ := unstructured.NestedString(got.Object, "status", "phase"); phase != "Running" {
		t.Errorf("status.phase is %q: an object must be created with the status it was given", phase)
	}
	if err := env.Client.Get(t.Context(), client.ObjectKey{Namespace: env.Namespace, Name: "s"}, &corev1.Secret{}); err != nil {
		t.Errorf("a namespaced object without a namespace must go to the test's: %v", err)
	}
}

func TestNewIsolates(t *testing.T) {
	t.Parallel()
	a, b := controlplanetest.New(t), controlplanetest.New(t)
	if a.Namespace == b.Namespace || a.Prefix == b.Prefix {
		t.Errorf("two environments share namespace %s or prefix %s", a.Namespace, a.Prefix)
	}
	a.Config.Host = "elsewhere"
	if b.Config.Host == "elsewhere" || controlplanetest.Config(t).Host == "elsewhere" {
		t.Error("environments must not share their Config")
	}
}

func TestNewCleansUp(t *testing.T) {
	t.Parallel()
	var inner *controlplanetest.Env
	t.Run("inner", func(t *testing.T) { inner = controlplanetest.New(t, widget("a", "")) })
	outer := controlplanetest.New(t)
	outer.Eventually(t, "the inner test's namespace is deleted", func(ctx context.Context) error {
		err := outer.Client.Get(ctx, client.ObjectKey{Name: inner.Namespace}, &corev1.Namespace{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("want not found, got %v", err)
		}
		return nil
	})
}

// The server is built without flags of the linker, as by anybody who embeds it.
func TestServerVersion(t *testing.T) {
	t.Parallel()
	info, err := discovery.NewDiscoveryClientForConfigOrDie(controlplanetest.Config(t)).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if v, err := version.ParseSemantic(info.GitVersion); err != nil || v.Major() != 1 || info.Major != "1" || info.Minor == "" {
		t.Errorf("clients cannot read the server's version %+v: %v", info, err)
	}
}
