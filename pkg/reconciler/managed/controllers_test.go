// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/thing"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// A fleet is a system and Things, which controllers serve as a provider would. Other tests have others.
type fleet struct {
	t      testing.TB
	env    *controlplanetest.Env
	system *thing.System
	label  map[string]string
}

func newFleet(t testing.TB) *fleet {
	t.Helper()
	return fleetOf(t, scheme())
}

func fleetOf(t testing.TB, scheme *runtime.Scheme) *fleet {
	t.Helper()
	env := controlplanetest.NewWithScheme(t, scheme)
	return &fleet{t: t, env: env, system: thing.NewSystem(), label: map[string]string{"test": strings.Trim(env.Prefix, "-")}}
}

// control runs a controller of the fleet until stop is called or the test ends.
func (f *fleet) control(t testing.TB, o ...managed.ReconcilerOption) (r *managed.Reconciler, stop func()) {
	t.Helper()
	o = append([]managed.ReconcilerOption{managed.WithTypedExternalConnecter[*thing.Thing](f.system)}, o...)
	return control(t, f.env.Config, scheme(), &thing.Thing{}, f.label, o...)
}

// control runs a controller of the Things of a label, whatever their Go type, on a manager of its own.
func control(t testing.TB, on *rest.Config, scheme *runtime.Scheme, of client.Object, label map[string]string,
	o ...managed.ReconcilerOption,
) (r *managed.Reconciler, stop func()) {
	t.Helper()
	options := managed.CacheOptions()
	options.ByObject[of] = cache.ByObject{Label: labels.SelectorFromSet(label)}
	run := manager.Options{Scheme: scheme, Cache: options,
		Controller: config.Controller{MaxConcurrentReconciles: 4, SkipNameValidation: new(true)}}
	stop = controlplanetest.RunManager(t, on, run, func(mgr manager.Manager) error {
		kind, err := mgr.GetClient().GroupVersionKindFor(of)
		if err != nil {
			return err
		}
		if _, untyped := of.(runtime.Unstructured); untyped {
			o = append(o, managed.WithNewManaged(newUnstructured))
		}
		r = managed.NewReconciler(mgr, resource.ManagedKind(kind), o...)
		return ctrl.NewControllerManagedBy(mgr).Named(strings.ToLower(t.Name())).For(of).WatchesRawSource(r.Wakeups()).Complete(r)
	})
	return r, stop
}

func (f *fleet) add(name string, change func(*thing.Thing)) *thing.Thing {
	f.t.Helper()
	mg := &thing.Thing{}
	f.create(name, mg, mg, change)
	return mg
}

// create creates an object that is a Thing or contains one; change may alter it first.
func (f *fleet) create(name string, o client.Object, in *thing.Thing, change func(*thing.Thing)) {
	f.t.Helper()
	in.Name, in.Labels = f.env.Prefix+name, maps.Clone(f.label)
	in.Spec.ForProvider.Size = 1
	if change != nil {
		change(in)
	}
	if err := f.env.Client.Create(f.t.Context(), o); err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { strike(f.env, o) })
}

func (f *fleet) update(mg *thing.Thing, change func(*thing.Thing)) {
	f.t.Helper()
	change(mg)
	if err := f.env.Client.Update(f.t.Context(), mg); err != nil {
		f.t.Fatal(err)
	}
}

// waitFor waits for a state of an object.
func waitFor[T resource.Managed](t testing.TB, env *controlplanetest.Env, mg T, what string, ok func(T) bool) {
	t.Helper()
	env.Eventually(t, what, func(ctx context.Context) error {
		if err := env.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		if !ok(mg) {
			return fmt.Errorf("%s: %s", mg.GetCondition(xpv1.TypeReady).Reason, mg.GetCondition(xpv1.TypeSynced).Message)
		}
		return nil
	})
}

func available[T resource.Managed](mg T) bool {
	return mg.GetCondition(xpv1.TypeReady).Reason == xpv1.ReasonAvailable
}

// remove deletes an object and waits until it is gone.
func remove(t testing.TB, env *controlplanetest.Env, o client.Object) {
	t.Helper()
	if err := env.Client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	env.Eventually(t, "it is gone", func(ctx context.Context) error {
		err := env.Client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			return fmt.Errorf("finalizers %v", o.GetFinalizers())
		}
		return client.IgnoreNotFound(err)
	})
}

// useSecret has a ProviderConfig use a connection Secret, or no longer: null.
func useSecret(t *testing.T, f *fleet, secret *corev1.Secret, user string) {
	t.Helper()
	use := []byte(`{"metadata":{"annotations":{"in-use.bowline.dev/u":` + user + `}}}`)
	if err := f.env.Client.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, use)); err != nil {
		t.Fatal(err)
	}
}

// The requests that a controller sends to the API server, as they leave it.
func TestRequestBudget(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T, *fleet, *rest.Config, managed.ReconcilerOption){
		"a kind with a Go type (N13, N84)": func(t *testing.T, f *fleet, on *rest.Config, o managed.ReconcilerOption) {
			control(t, on, scheme(), &thing.Thing{}, f.label, o, managed.WithTypedExternalConnecter[*thing.Thing](f.system))
		},
		"a kind that is known by name only (N13, N84)": func(t *testing.T, f *fleet, on *rest.Config, o managed.ReconcilerOption) {
			core := runtime.NewScheme()
			if err := corev1.AddToScheme(core); err != nil {
				t.Fatal(err)
			}
			control(t, on, core, unstructured.New(thing.ThingGroupVersionKind).GetUnstructured(), f.label, o,
				managed.WithTypedExternalConnecter[*unstructured.Managed](bridge{f.system}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, requests := newFleet(t), &requestLog{}
			start(t, f, requests.of(f.env.Config), managed.WithPollInterval(20*time.Millisecond))
			mg := f.add("budget", func(mg *thing.Thing) {
				mg.Spec.WriteConnectionSecretToReference = &xpv1.SecretReference{Namespace: f.env.Namespace, Name: "budget"}
			})
			object, event := "/apis/test.bowline.dev/v1/things/"+mg.Name, "POST /api/v1/namespaces/default/events"

			await := func() {
				t.Helper()
				f.env.Eventually(t, "the event follows", func(context.Context) error { return requests.includes(event) })
			}
			waitFor(t, f.env, mg, "Ready", available)
			await()
			requests.expect(t, "create to Ready", "PATCH "+object, "POST /api/v1/namespaces/"+f.env.Namespace+"/secrets", "PATCH "+object,
				"PATCH "+object+"/status", event)

			idle := func(phase string) {
				t.Helper()
				f.system.TakeCalls()
				f.env.Eventually(t, "100 polls", func(context.Context) error {
					if n := f.system.Called("Observe"); n < 100 {
						return fmt.Errorf("%d polls", n)
					}
					return nil
				})
				requests.expect(t, phase)
			}
			idle("100 idle polls")

			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.env.Namespace, Name: "budget"}}
			useSecret(t, f, secret, `"ProviderConfig.example.org a"`)
			password := secret.Data["password"]
			setPassword(t, f, secret, nil)
			waitFor(t, f.env, mg, "in use, and its details are lost", func(mg *thing.Thing) bool {
				return mg.GetCondition(xpv1.TypeInUse).Status == corev1.ConditionTrue && xpv1.FailureOf(mg).Reason == failure.ConnectionDetailsLost
			})
			await()
			requests.forget()
			idle("100 polls while its Secret is in use and lacks a key")
			setPassword(t, f, secret, password)
			waitFor(t, f.env, mg, "Ready again", available)
			useSecret(t, f, secret, "null")
			waitFor(t, f.env, mg, "not in use", func(mg *thing.Thing) bool {
				return mg.GetCondition(xpv1.TypeInUse).Status == corev1.ConditionFalse
			})
			requests.forget()

			f.update(mg, func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
			waitFor(t, f.env, mg, "updated", func(mg *thing.Thing) bool {
				return mg.Status.AtProvider.Size == 2 && mg.GetCondition(xpv1.TypeSynced).ObservedGeneration == mg.Generation
			})
			await()
			requests.expect(t, "spec change", "PATCH "+object+"/status", event)

			remove(t, f.env, mg)
			if left := f.system.Snapshot(); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
			await()
			requests.expect(t, "deletion", "GET /api/v1/namespaces/"+f.env.Namespace+"/secrets/budget", "PATCH "+object, event)
		})
	}
}

// A requestLog lists requests in order, all but watches and the discovery of kinds.
type requestLog struct {
	mu   sync.Mutex
	seen []string
}

func (l *requestLog) of(config *rest.Config) *rest.Config {
	return fault.Intercept(config, func(req *http.Request, next http.RoundTripper) (*http.Response, error) {
		path := req.URL.Path
		discovery := path == "/api" || path == "/apis" || path == "/api/v1" ||
			strings.Count(path, "/") == 3 && strings.HasPrefix(path, "/apis/")
		if !fault.IsWatch(req) && !discovery {
			l.mu.Lock()
			l.seen = append(l.seen, req.Method+" "+path)
			l.mu.Unlock()
		}
		return next.RoundTrip(req)
	})
}

// includes returns an error until there was the request.
func (l *requestLog) includes(request string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.seen, request) {
		return fmt.Errorf("no %s in %q", request, l.seen)
	}
	return nil
}

func (l *requestLog) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = nil
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

func TestControllers(t *testing.T) {
	t.Parallel()
	hourly := managed.WithPollInterval(time.Hour)
	for name, test := range map[string]func(*testing.T, *fleet){
		"every object is observed each hour (R223)": func(t *testing.T, _ *fleet) {
			if period := managed.CacheOptions().SyncPeriod; period == nil || *period != time.Hour {
				t.Errorf("the cache resyncs every %v", period)
			}
		},
		"crossplane.io/reconcile-requested-at is answered at once (N18)": func(t *testing.T, f *fleet) {
			f.control(t, hourly)
			mg := f.add("requested", nil)
			waitFor(t, f.env, mg, "Ready", available)
			f.system.TakeCalls()
			f.update(mg, func(mg *thing.Thing) { mg.Annotations["crossplane.io/reconcile-requested-at"] = "now" })
			f.env.Eventually(t, "Observe", func(context.Context) error {
				if f.system.Called("Observe") == 0 {
					return errors.New("not called")
				}
				return nil
			})
		},
		"however often an object is asked for, one pass runs at a time (R46)": func(t *testing.T, f *fleet) {
			var running, most, passes atomic.Int32
			f.system.Observed = func(*thing.Thing, *observation) {
				most.Store(max(most.Load(), running.Add(1)))
				<-time.After(2 * time.Millisecond)
				running.Add(-1)
				passes.Add(1)
			}
			r, stop := f.control(t)
			mg := f.add("one", nil)
			f.env.Eventually(t, "20 passes", func(context.Context) error {
				for range 10 {
					r.WakeNow(client.ObjectKeyFromObject(mg))
				}
				if n := passes.Load(); n < 20 {
					return fmt.Errorf("%d passes", n)
				}
				return nil
			})
			if stop(); most.Load() != 1 {
				t.Errorf("%d passes at a time", most.Load())
			}
		},
		"what refers to another is reconciled when that can be used (R161, R162, R165)": func(t *testing.T, f *fleet) {
			f.control(t, hourly)
			target := f.env.Prefix + "target"
			byName := f.add("by-name", refersTo(target))
			byLabel := f.add("by-label", func(mg *thing.Thing) {
				mg.Spec.ForProvider.NeighbourSelector = &xpv1.Selector{MatchLabels: map[string]string{"role": target}}
			})
			for _, mg := range []*thing.Thing{byName, byLabel} {
				waitFor(t, f.env, mg, "waits", func(mg *thing.Thing) bool {
					return mg.GetCondition(xpv1.TypeSynced).Reason == xpv1.ReasonReconcileError
				})
			}
			f.add("target", func(mg *thing.Thing) { mg.Labels["role"] = target })
			for _, mg := range []*thing.Thing{byName, byLabel} {
				waitFor(t, f.env, mg, "Ready", available)
				if got := mg.Spec.ForProvider.NeighbourRef; got == nil || got.Name != target {
					t.Errorf("%s refers to %v", mg.Name, got)
				}
			}
		},
		"a Secret that it takes a value from gets the value (P61)":                            missingInput,
		"keys that the connection Secret lacked are added (R208, N22)":                        lostKeysAdded,
		"the removal of another finalizer resumes a deletion (N37)":                           heldDeletion,
		"a process that starts among deletions deletes what refers to others first (N32, N5)": deletionAfterRestart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newFleet(t))
		})
	}
}

func heldDeletion(t *testing.T, f *fleet) {
	f.control(t, managed.WithPollInterval(time.Hour))
	mg := f.add("held", func(mg *thing.Thing) { mg.Finalizers = []string{"example.org/hold"} })
	waitFor(t, f.env, mg, "Ready", available)
	if err := f.env.Client.Delete(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	waitFor(t, f.env, mg, "waits", func(mg *thing.Thing) bool { return xpv1.FailureOf(mg).Reason == failure.WaitingForFinalizers })
	f.update(mg, func(mg *thing.Thing) { mg.Finalizers = []string{managed.Finalizer} })
	f.env.Eventually(t, "it is gone", func(ctx context.Context) error {
		if err := f.env.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("finalizers %v: %v", mg.GetFinalizers(), err)
		}
		return nil
	})
}

func deletionAfterRestart(t *testing.T, f *fleet) {
	const pairs = 8 // so that the right order is hardly luck
	_, stop := f.control(t, managed.WithPollInterval(time.Hour))
	var all []*thing.Thing
	for i := range pairs {
		target := f.add(fmt.Sprint("target-", i), nil)
		all = append(all, target, f.add(fmt.Sprint("dependent-", i), refersTo(target.Name)))
	}
	for _, mg := range all {
		waitFor(t, f.env, mg, "Ready", available)
	}
	stop()
	for _, mg := range all {
		if err := f.env.Client.Delete(t.Context(), mg); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	var order []string
	f.system.Deleted = func(mg *thing.Thing) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, strings.TrimPrefix(mg.Name, f.env.Prefix))
	}
	f.control(t, managed.WithPollInterval(time.Hour))
	f.env.Eventually(t, "all are gone", func(ctx context.Context) error {
		var list thing.ThingList
		if err := f.env.Client.List(ctx, &list, client.MatchingLabels(f.label)); err != nil || len(list.Items) == 0 {
			return err
		}
		return fmt.Errorf("%d are left", len(list.Items))
	})
	mu.Lock()
	defer mu.Unlock()
	for i := range pairs {
		if slices.Index(order, fmt.Sprint("dependent-", i)) > slices.Index(order, fmt.Sprint("target-", i)) {
			t.Errorf("target %d was deleted first: %v", i, order)
		}
	}
}

// A managed resource lives its whole life where no kind of claims and classes is installed, and no request asks for one.
func TestWithoutClaimsAndClasses(t *testing.T) {
	t.Parallel()
	t.Run("only the managed kind is installed (R3)", func(t *testing.T) {
		t.Parallel()
		f := newFleet(t)
		var mu sync.Mutex
		var asked []string
		bare := fault.Intercept(f.env.Config, func(r *http.Request, next http.RoundTripper) (*http.Response, error) {
			rest, isGroup := strings.CutPrefix(r.URL.Path, "/apis/")
			if group, _, _ := strings.Cut(rest, "/"); !isGroup || group == thing.ThingGroupVersionKind.Group {
				return next.RoundTrip(r)
			}
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, r.Method+" "+r.URL.Path)
			return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: r}, nil
		})
		control(t, bare, scheme(), &thing.Thing{}, f.label, managed.WithTypedExternalConnecter[*thing.Thing](f.system))
		mg := f.add("bare", nil)
		waitFor(t, f.env, mg, "Ready", available)
		f.update(mg, func(mg *thing.Thing) { mg.Spec.ForProvider.Size = 2 })
		waitFor(t, f.env, mg, "the change is seen", func(mg *thing.Thing) bool {
			return mg.GetCondition(xpv1.TypeSynced).ObservedGeneration == mg.Generation
		})
		remove(t, f.env, mg)
		mu.Lock()
		defer mu.Unlock()
		if len(asked) > 0 {
			t.Errorf("asked for what is not installed: %v", asked)
		}
	})
}
