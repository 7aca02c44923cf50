// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package idle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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

// A gate counts the requests for the kind of the test, refuses some, and ends some responses after the first line.
type gate struct {
	http.RoundTripper
	requests, refusals, cuts atomic.Int32
}

func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/configmaps") {
		g.requests.Add(1)
		if g.refusals.Add(-1) >= 0 {
			return nil, errors.New("refused")
		}
	}
	response, err := g.RoundTripper.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/configmaps") && g.cuts.Add(-1) >= 0 {
		response.Body = &firstLine{ReadCloser: response.Body}
	}
	return response, err
}

// A firstLine ends after the first line.
type firstLine struct {
	io.ReadCloser
	ended bool
}

func (f *firstLine) Read(p []byte) (int, error) {
	if f.ended {
		return 0, io.EOF
	}
	n, err := f.ReadCloser.Read(p)
	if end := bytes.IndexByte(p[:n], '\n'); end >= 0 {
		n, f.ended = end+1, true
	}
	return n, err
}

func TestInformerBeginsWithTheFirstObject(t *testing.T) {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	untyped, metadata := &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}
	untyped.SetGroupVersionKind(kind)
	metadata.SetGroupVersionKind(kind)
	for name, tc := range map[string]struct {
		form           client.Object
		refusals, cuts int32
	}{
		"typed (N83)":                      {form: &corev1.ConfigMap{}},
		"untyped (N83)":                    {form: untyped},
		"only metadata (N83)":              {form: metadata},
		"the watch is refused (N83)":       {form: &corev1.ConfigMap{}, refusals: 1},
		"the server is away twice (N83)":   {form: metadata, refusals: 2},
		"a watch ends among objects (N83)": {form: untyped, cuts: 1},
		"two watches end among them (N83)": {form: untyped, cuts: 2},
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
			later := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace, Name: "another"}} // of an earlier name
			server.refusals.Store(tc.refusals)
			server.cuts.Store(tc.cuts)
			if tc.cuts == 0 {
				close(used)
			}
			must(t, env.Client.Create(t.Context(), first))
			must(t, env.Client.Create(t.Context(), later))
			if tc.cuts > 0 {
				close(used)
			}
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
