// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
)

// startServer runs a server for one test and stops it, checking that it stops in order, when the test ends.
func startServer(t *testing.T, cfg Config) *Server {
	t.Helper()
	s := newServer(t, cfg)
	t.Cleanup(run(t, s))
	return s
}

// newServer returns a server that listens on a free port and does not sync its writes, in a folder of its own by default.
func newServer(t *testing.T, cfg Config) *Server {
	t.Helper()
	cfg.DataDir, cfg.Listen = cmp.Or(cfg.DataDir, t.TempDir()), cmp.Or(cfg.Listen, "127.0.0.1:0")
	cfg.NoSync = true
	s, err := New(cfg)
	must(t, err)
	return s
}

// run runs a server until stop is called, which wants it to stop in order. It returns when the server is ready.
func run(t testing.TB, s *Server) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := begin(ctx, t, s)
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run returned %v", err)
		}
	}
}

// begin runs a server until ctx ends, and returns when it is ready.
func begin(ctx context.Context, t testing.TB, s *Server) (done <-chan error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	select {
	case <-s.Ready():
	case err := <-ended:
		t.Fatalf("the server did not start: %v", err)
	}
	return ended
}

func newClient(t *testing.T, config *rest.Config) client.WithWatch {
	t.Helper()
	scheme := runtime.NewScheme()
	must(t, errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme)))
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	must(t, err)
	return c
}

func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	testkit.Eventually(t, what, func() error { return check(t.Context()) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const testGroup = "test.bowline.dev"

// gadgets is a namespaced kind whose size is bounded and may only grow, with a printed column.
func gadgets(kind string) *apiextensionsv1.CustomResourceDefinition {
	d := kinds.Definition(schema.GroupVersion{Group: testGroup, Version: "v1"}, kind, apiextensionsv1.NamespaceScoped)
	version := &d.Spec.Versions[0]
	version.AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Size", Type: "integer", JSONPath: ".spec.size"}}
	version.Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{
		Type: "object",
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"size": {Type: "integer", Description: "Size of the gadget.", XValidations: apiextensionsv1.ValidationRules{
				{Rule: "self <= 100", Message: "too big"},
				{Rule: "self >= oldSelf", Message: "must not shrink"},
			}},
			"colour": {Type: "string"},
		},
	}
	return d
}

func gadget(kind, namespace, name string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": testGroup + "/v1", "kind": kind,
		"metadata": map[string]any{"namespace": namespace, "name": name},
		"spec":     map[string]any{"size": size},
	}}
}

// define installs a kind and waits until it answers.
func define(t *testing.T, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	must(t, c.Create(t.Context(), crd))
	eventually(t, crd.Name+" is served", func(ctx context.Context) error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(testGroup + "/v1")
		list.SetKind(crd.Spec.Names.Kind + "List")
		return c.List(ctx, list)
	})
}

func namespace(t *testing.T, c client.Client, name string) {
	t.Helper()
	must(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
}

// deleted waits until an object no longer exists.
func deleted(t *testing.T, c client.Client, obj client.Object) {
	t.Helper()
	eventually(t, obj.GetName()+" is deleted", testkit.Gone(c, obj.DeepCopyObject().(client.Object)))
}
