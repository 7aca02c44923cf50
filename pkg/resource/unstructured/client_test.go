// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package unstructured_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// cached returns a client that reads the Env's namespace from a cache, unstructured objects too.
func cached(t *testing.T, env *controlplanetest.Env) client.Client {
	t.Helper()
	objects, err := cache.New(env.Config, cache.Options{
		Scheme: env.Scheme, DefaultNamespaces: map[string]cache.Config{env.Namespace: {}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- objects.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("cache: %v", err)
		}
	})
	c, err := client.New(env.Config, client.Options{Scheme: env.Scheme, Cache: &client.CacheOptions{Reader: objects, Unstructured: true}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Every verb that a controller needs works on a managed resource, with or without a cache. Any object of the API is kind
// enough to show that.
func TestClient(t *testing.T) {
	t.Parallel()
	env := controlplanetest.New(t)
	for name, tc := range map[string]struct{ client client.Client }{
		"from the cache":      {client: unstructured.NewClient(cached(t, env))},
		"from the API server": {client: unstructured.NewClient(env.Client)},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, c := t.Context(), tc.client
			mg := unstructured.New(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			mg.SetNamespace(env.Namespace)
			mg.SetGenerateName("any-")
			mg.Object["data"] = map[string]any{"size": "1"}
			if err := c.Create(ctx, mg); err != nil {
				t.Fatal(err)
			}
			base := mg.DeepCopy()
			mg.Object["data"] = map[string]any{"size": "2"}
			if err := c.Patch(ctx, mg, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
				t.Fatal(err)
			}
			mg.SetLabels(map[string]string{"team": "shop"})
			if err := c.Update(ctx, mg); err != nil {
				t.Fatal(err)
			}
			have := unstructured.New(mg.GroupVersionKind())
			env.Eventually(t, "the object is as written", func(ctx context.Context) error {
				err := c.Get(ctx, client.ObjectKeyFromObject(mg), have)
				if err == nil && have.GetResourceVersion() != mg.GetResourceVersion() {
					err = errors.New("not yet")
				}
				return err
			})
			if diff := cmp.Diff(mg, have); diff != "" {
				t.Errorf("-written +read:\n%s", diff)
			}
			have.SetBindingPhase(xpv1.BindingPhaseBound) // what was read is the reader's own
			again := unstructured.New(mg.GroupVersionKind())
			if err := c.Get(ctx, client.ObjectKeyFromObject(mg), again); err != nil || again.GetBindingPhase() != "" {
				t.Errorf("what one reader does the next one sees: %v, %v", again.Object, err)
			}
			if err := c.Delete(ctx, have, client.Preconditions{UID: new(mg.GetUID())}); err != nil {
				t.Error(err)
			}
		})
	}
}

// Objects that are not ours pass through.
func TestClientOfTypedObjects(t *testing.T) {
	t.Parallel()
	o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "typed"}, Data: map[string]string{"size": "1"}}
	env := controlplanetest.New(t, o)
	have := &corev1.ConfigMap{}
	err := unstructured.NewClient(env.Client).Get(t.Context(), client.ObjectKeyFromObject(o), have)
	if err != nil || have.Data["size"] != "1" {
		t.Errorf("read %v, %v", have.Data, err)
	}
}
