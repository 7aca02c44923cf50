// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/clients/limits"
)

// The ProviderConfig of a tenant that fails and recovers all the time costs others nothing.
func TestFlappingConfig(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		var listed []types.NamespacedName
		kind := schema.GroupVersionKind{Group: "m.example.org", Version: "v1", Kind: "ProviderConfig"}
		r := &Registry{configs: []ConfigKind{{Kind: kind, Namespaced: true}}, secrets: &credentials.Secrets{}, ctx: ctx}
		w := watch{Registry: r, group: kind.Group, users: func(_ context.Context, config types.NamespacedName) ([]reconcile.Request, error) {
			<-release
			listed = append(listed, config)
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: config.Namespace, Name: "user"}}}, nil
		}}
		q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		if err := w.listen(ctx, q); err != nil {
			t.Fatal(err)
		}
		tenant := types.NamespacedName{Namespace: "tenant", Name: "default"}
		for range 100 { // within calls, while the first list is not answered: this would block for ever
			r.healthChanged(keyOf(kind, tenant), true)
			synctest.Wait()
		}
		r.healthChanged(limits.Key{Group: kind.Group, Kind: "Other", Name: "default"}, true)
		close(release)
		synctest.Wait()
		if diff := cmp.Diff([]types.NamespacedName{tenant, tenant}, listed); diff != "" {
			t.Errorf("the users are listed by name and namespace, at most once more for all that happened meanwhile\n-want +got:\n%s", diff)
		}
		if q.Len() != 1 {
			t.Errorf("%d users are enqueued, want 1", q.Len())
		}
		cancel()
		q.ShutDown()
		synctest.Wait()
	})
}

// A spec is parsed once for each version of a ProviderConfig, and kept for as long as that exists.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	r := &Registry{limits: limits.NewRegistry()}
	key := limits.Key{Kind: "ProviderConfig", Name: "default"}
	declare := func(uid types.UID, version, endpoint string) *declaration {
		t.Helper()
		config := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"endpoint": endpoint}}}
		config.SetUID(uid)
		config.SetResourceVersion(version)
		d, err := r.declarationOf(key, config)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := declare("a", "1", "one")
	if again := declare("a", "1", "one"); again != first {
		t.Error("the spec of an unchanged ProviderConfig is parsed again")
	}
	for name, tc := range map[string]struct {
		uid     types.UID
		version string
	}{"changed (R227)": {"a", "2"}, "created anew (R227)": {"b", "1"}} {
		t.Run(name, func(t *testing.T) {
			if spec := string(declare(tc.uid, tc.version, "two").spec); !strings.Contains(spec, "two") {
				t.Errorf("got the spec of another version: %s", spec)
			}
		})
	}
	r.forget(key)
	if _, kept := r.declared.Load(key); kept {
		t.Error("the spec of a deleted ProviderConfig is kept")
	}
}
