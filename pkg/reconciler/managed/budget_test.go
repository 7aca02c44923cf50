// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// The requests that a controller sends to the API server, as they leave it. What a phase may cost is in the project's
// architecture; here each request is named.
func TestRequestBudget(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, *rest.Config, *thing.System, string){
		"a kind with a Go type": startController, "a kind that is known by name only": startUnstructured,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testRequestBudget(t, start)
		})
	}
}

func testRequestBudget(t *testing.T, start func(*testing.T, *rest.Config, *thing.System, string)) {
	t.Helper()
	env := controlplanetest.NewWithScheme(t, newScheme(t))
	system, requests := thing.NewSystem(), &requestLog{}
	mg := &thing.Thing{ObjectMeta: metav1.ObjectMeta{Name: env.Prefix + "budget"}}
	start(t, requests.of(env.Config), system, mg.Name)
	mg.Spec.ForProvider.Size = 1
	mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: env.Namespace, Name: "budget"}
	object := "/apis/test.bowline.dev/v1/things/" + mg.Name
	secrets := "/api/v1/namespaces/" + env.Namespace + "/secrets"
	event := "POST /api/v1/namespaces/default/events"

	if err := env.Client.Create(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	eventually(t, env, mg, "Ready", func() bool { return mg.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonAvailable })
	requests.expect(t, "create to Ready", "PATCH "+object, "POST "+secrets, "PATCH "+object, event, "PATCH "+object+"/status")

	system.TakeCalls()
	env.Eventually(t, "100 polls", func(context.Context) error {
		if system.Called("Observe") < 100 {
			return errors.New("still polling")
		}
		return nil
	})
	requests.expect(t, "100 idle polls (N13)")

	mg.Spec.ForProvider.Size = 2
	if err := env.Client.Update(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	eventually(t, env, mg, "updated", func() bool {
		return mg.Status.AtProvider.Size == 2 && mg.GetCondition(xpv1.TypeSynced).ObservedGeneration == mg.Generation
	})
	requests.expect(t, "spec change", event, "PATCH "+object+"/status")

	if err := env.Client.Delete(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	env.Eventually(t, "the object is gone", func(ctx context.Context) error {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); client.IgnoreNotFound(err) == nil && err != nil {
			return nil
		}
		return fmt.Errorf("finalizers %v", mg.Finalizers)
	})
	if left := system.Snapshot(); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	env.Eventually(t, "the event follows", func(context.Context) error { return requests.atLeast(2) })
	requests.expect(t, "deletion", "PATCH "+object, event)
}

func eventually(t *testing.T, env *controlplanetest.Env, mg *thing.Thing, what string, ok func() bool) {
	t.Helper()
	env.Eventually(t, what, func(ctx context.Context) error {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		if !ok() {
			return fmt.Errorf("status is %+v", mg.Status)
		}
		return nil
	})
}

// startController runs a controller as a provider would, polling every 20 ms, until the test ends. It sees one Thing
// only; the others on the shared server belong to other tests.
func startController(t *testing.T, config *rest.Config, system *thing.System, name string) {
	t.Helper()
	only := cache.ByObject{Field: fields.OneTermEqualSelector(metav1.ObjectNameField, name)}
	runController(t, config, system, only, managed.WithPollInterval(20*time.Millisecond))
}

// runController runs a controller that sees some Things only.
func runController(t *testing.T, config *rest.Config, system *thing.System, only cache.ByObject, o ...managed.ReconcilerOption) {
	t.Helper()
	options := managed.CacheOptions()
	options.ByObject[&thing.Thing{}] = only
	controlplanetest.RunManager(t, config, manager.Options{Scheme: newScheme(t), Cache: options}, func(mgr manager.Manager) error {
		r := managed.NewReconciler(mgr, resource.ManagedKind(thing.GroupVersionKind),
			append([]managed.ReconcilerOption{managed.WithTypedExternalConnecter[*thing.Thing](system)}, o...)...)
		return ctrl.NewControllerManagedBy(mgr).Named(strings.ToLower(t.Name())).For(&thing.Thing{}).WatchesRawSource(r.Wakeups()).Complete(r)
	})
}

// A requestLog lists requests in order, all but watches and the discovery of kinds.
type requestLog struct {
	mu   sync.Mutex
	seen []string
}

func (l *requestLog) of(config *rest.Config) *rest.Config {
	return fault.Intercept(config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		path := req.URL.Path
		discovery := path == "/api" || path == "/apis" || path == "/api/v1" || strings.Count(path, "/") == 3 && strings.HasPrefix(path, "/apis/")
		if !fault.IsWatch(req) && !discovery {
			l.mu.Lock()
			l.seen = append(l.seen, req.Method+" "+path)
			l.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

// atLeast returns an error until there are n requests.
func (l *requestLog) atLeast(n int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.seen) < n {
		return fmt.Errorf("%d of %d requests", len(l.seen), n)
	}
	return nil
}

// expect compares the requests since the last call with what the phase may cost.
func (l *requestLog) expect(t *testing.T, phase string, want ...string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if diff := cmp.Diff(want, l.seen); diff != "" {
		t.Errorf("%s: requests -want +got:\n%s", phase, diff)
	}
	l.seen = nil
}
