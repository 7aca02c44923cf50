// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package idle_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/internal/idle"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Main(m)) }

// A gate counts the requests for the kind of the test and refuses some.
type gate struct {
	http.RoundTripper
	requests, refusals atomic.Int32
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/configmaps") {
		g.requests.Add(1)
		if g.refusals.Add(-1) >= 0 {
			return nil, errors.New("refused")
		}
	}
	return g.RoundTripper.RoundTrip(r)
}

func TestInformerBeginsWithTheFirstObject(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	untyped, metadata := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	untyped.SetGroupVersionKind(kind)
	metadata.SetGroupVersionKind(kind)
	for name, tc := range map[string]struct {
		form     client.Object
		refusals int32
	}{
		"typed (N83)":                    {form: &corev1.ConfigMap{}},
		"untyped (N83)":                  {form: untyped},
		"only metadata (N83)":            {form: metadata},
		"the watch is refused (N83)":     {form: &corev1.ConfigMap{}, refusals: 1},
		"the server is away twice (N83)": {form: metadata, refusals: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := controlplanetest.New(t)
			server := &gate{}
			config := rest.CopyConfig(env.Config)
			config.Wrap(func(next http.RoundTripper) http.RoundTripper {
				server.RoundTripper = next
				return server
			})
			used := make(chan struct{})
			var all cluster.Cluster
			all, err := cluster.New(config, func(o *cluster.Options) {
				o.Cache = cache.Options{
					DefaultNamespaces: map[string]cache.Config{env.Namespace: {}},
					NewInformer: idle.NewInformer(func() cluster.Cluster { return all },
						func(_ context.Context, kind schema.GroupResource) <-chan struct{} {
							if kind.Resource != "configmaps" {
								t.Errorf("an informer of %s", kind)
							}
							return used
						}),
				}
			})
			must(t, err)
			controlplanetest.Run(t, all.Start)
			has := func(want string) {
				t.Helper()
				env.Eventually(t, "the cache has "+want, func(ctx context.Context) error {
					o := tc.form.DeepCopyObject().(client.Object)
					err := all.GetCache().Get(ctx, client.ObjectKey{Namespace: env.Namespace, Name: "first"}, o)
					if got := fmt.Sprintf("%v %s", client.IgnoreNotFound(err), o.GetLabels()["is"]); got != "<nil> "+want {
						return errors.New(got)
					}
					return nil
				})
			}
			has("")
			if n := server.requests.Load(); n != 0 {
				t.Errorf("%d requests for a kind without objects", n)
			}
			first := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "first", Labels: map[string]string{"is": "new"}}}
			server.refusals.Store(tc.refusals)
			close(used)
			must(t, env.Client.Create(t.Context(), first))
			has("new")
			first.Labels["is"] = "changed"
			must(t, env.Client.Update(t.Context(), first))
			has("changed")
			must(t, env.Client.Delete(t.Context(), first))
			has("")
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
