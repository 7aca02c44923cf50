// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package clients

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
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
