// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/yaml"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/internal/testkit/kinds"
	"github.com/bowline-dev/bowline/internal/testkit/shop"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// A reefItem is an item without a Go type of its kind, in a type that a bridge may add something to.
type reefItem struct{ unstructured.Managed }

// DeepCopyObject implements runtime.Object.
func (i *reefItem) DeepCopyObject() runtime.Object { return &reefItem{*i.DeepCopy()} }

// Parameters are those of an item.
func (i *reefItem) Parameters() *shop.ItemParameters {
	parameters := &shop.ItemParameters{}
	forProvider, _ := i.Object["spec"].(map[string]any)["forProvider"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(forProvider, parameters); err != nil {
		panic(err)
	}
	return parameters
}

// A reef is a stage whose kinds and configurations no Go type has, in groups that exist for one test.
type reef struct {
	*stage
	groups   kinds.Groups
	provider provider.Provider
	used     chan struct{} // closed once the kinds have objects

	mu       sync.Mutex
	requests []string // of the controllers, without watches
	early    atomic.Int32
	refused  []string
}

func newReef(t *testing.T) *reef {
	t.Helper()
	r := &reef{stage: &stage{Env: controlplanetest.New(t), t: t, journal: &clientJournal{}}, used: make(chan struct{})}
	of := r.Namespace
	r.groups = kinds.Groups{
		Cluster:    schema.GroupVersion{Group: of + ".tf.bowline.dev", Version: "v1"},
		Namespaced: schema.GroupVersion{Group: of + ".tf.m.bowline.dev", Version: "v1"},
	}
	r.Uninstall(t, of)
	r.must(controlplanetest.Install(t.Context(), r.Config, r.groups.Definitions()...))
	var stop func()
	r.depot, stop = newDepot("first")
	t.Cleanup(stop)
	r.Own = r.groups.NewOwn(t, r.Client, r.Namespace)
	r.Create(&corev1.Secret{ObjectMeta: r.Meta(r.Namespace, "key"), Data: map[string][]byte{"key": []byte("first")}})
	factory := r.journal.factory(0)
	r.provider = provider.Provider{
		Name: "reef", CRDs: r.crds(), AddToScheme: func(*runtime.Scheme) error { return nil },
		Kinds: []provider.Kind{
			provider.KindOf(&reefItem{*unstructured.New(r.groups.Cluster.WithKind("Item"))}, factory, newExternal[*reefItem]),
			provider.KindOf(&reefItem{*unstructured.New(r.groups.Namespaced.WithKind("Item"))}, factory, newExternal[*reefItem]),
		},
	}
	for _, kind := range r.configKinds() {
		r.provider.Configs = append(r.provider.Configs, unstructured.NewProviderConfig(kind))
	}
	return r
}

func (r *reef) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *reef) configKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		r.groups.Cluster.WithKind("ProviderConfig"), r.groups.Namespaced.WithKind("ProviderConfig"),
		r.groups.Namespaced.WithKind("ClusterProviderConfig"),
	}
}

func (r *reef) crds() fs.FS {
	files := fstest.MapFS{}
	for _, d := range r.groups.Definitions() {
		content, err := yaml.Marshal(d)
		r.must(err)
		files[d.Name+".yaml"] = &fstest.MapFile{Data: content}
	}
	return files
}

// run runs the provider in a manager of its own, with no rights but those that it declares.
func (r *reef) run() {
	r.t.Helper()
	rules, err := r.provider.Rules()
	r.must(err)
	grant(r.t, r.Namespace, append(rules, provider.CommonRules()...))
	rc := fault.Intercept(r.Config, r.answer)
	rc.Impersonate = rest.ImpersonationConfig{UserName: r.Namespace}
	mgr, err := provider.NewManager(provider.ManagerConfig{
		REST: rc, WatchLabelSelector: "!shard",
		Used: func(context.Context, schema.GroupResource) <-chan struct{} { return r.used },
		Reconcilers: []managed.ReconcilerOption{managed.WithPollInterval(time.Hour), managed.WithRecorder(&recorder{}),
			managed.WithBackoff(50*time.Millisecond, time.Second)},
	}, r.provider)
	r.must(err)
	controlplanetest.Run(r.t, mgr.Start)
	<-mgr.Elected()
}

func (r *reef) answer(req *http.Request, next http.RoundTripper) (*http.Response, error) {
	path := req.URL.Path
	select {
	case <-r.used:
	default:
		if strings.HasSuffix(path, "/items") || strings.HasSuffix(path, "providerconfigs") {
			r.early.Add(1)
		}
	}
	resp, err := next.RoundTrip(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !fault.IsWatch(req) {
		r.requests = append(r.requests, req.Method+" "+path)
	}
	if err == nil && resp.StatusCode == http.StatusForbidden {
		r.refused = append(r.refused, req.Method+" "+path)
	}
	return resp, err
}

// take returns the requests since the last call.
func (r *reef) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.requests
	r.requests = nil
	return taken
}

// config is a configuration of a kind with the Secret "key".
func (r *reef) config(kind schema.GroupVersionKind, namespace, name string) *unstructured.ProviderConfig {
	c := unstructured.NewProviderConfig(kind)
	spec := r.spec("key")
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&spec)
	r.must(err)
	c.Object["spec"] = content
	c.SetNamespace(namespace)
	c.SetName(name)
	c.SetLabels(r.Labels)
	return c
}

// item uses a configuration.
func (r *reef) item(name string, of *unstructured.ProviderConfig) *reefItem {
	gv := r.groups.Cluster
	if of.GroupVersionKind().Group == r.groups.Namespaced.Group {
		gv = r.groups.Namespaced
	}
	i := &reefItem{*unstructured.New(gv.WithKind("Item"))}
	i.Object["spec"] = map[string]any{"forProvider": map[string]any{"size": int64(1)}}
	i.SetProviderConfigReference(&xpv1.ProviderConfigReference{Kind: of.GetKind(), Name: of.GetName()})
	if gv == r.groups.Namespaced {
		i.SetNamespace(r.Namespace)
	}
	i.SetName(name)
	i.SetLabels(r.Labels)
	return i
}

func (r *reef) resize(i *reefItem, to int64) {
	r.t.Helper()
	r.Change(i, func() { i.Object["spec"].(map[string]any)["forProvider"] = map[string]any{"size": to} })
}

// A provider whose kinds and ProviderConfigs are known at run time only does what others do, from the first object to the last.
func TestUntypedProvider(t *testing.T) {
	t.Parallel()
	r := newReef(t)
	r.run()
	all := r.configKinds()
	config, team, cluster := r.config(all[0], "", "config"), r.config(all[1], r.Namespace, "team"), r.config(all[2], "", "cluster")
	foreign := r.config(all[2], "", "foreign")
	foreign.SetLabels(map[string]string{"shard": "a"})
	config.Object["spec"].(map[string]any)["pollInterval"] = "50ms"
	byConfig, byTeam, byCluster := r.item("by-config", config), r.item("by-team", team), r.item("by-cluster", cluster)
	byForeign := r.item("by-foreign", foreign)
	byTeam.SetWriteConnectionSecretToReference(&xpv1.SecretReference{Name: "connection"})
	failIf(t, "kinds without objects are not watched (N83)", r.early.Load() != 0, "%d requests", r.early.Load())
	close(r.used)
	r.Create(config, team, cluster, foreign, byForeign, byConfig, byTeam, byCluster)
	r.settled(byConfig, byTeam, byCluster)
	failIf(t, "one client for each configuration (R232, N2)", r.created() != 3, "%d clients", r.created())
	t.Run("created", func(t *testing.T) { r.checkInUse(t, team) })
	t.Run("an unchanged poll makes no request (R221)", func(t *testing.T) { r.checkIdle(t) })
	t.Run("planned (N8)", func(t *testing.T) { r.checkPlan(t, byTeam) })
	t.Run("changed", func(t *testing.T) {
		r.resize(byTeam, 2)
		r.settled(byTeam)
		secret := &corev1.Secret{ObjectMeta: r.Meta(r.Namespace, "connection")}
		r.must(r.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
		if string(secret.Data["size"]) != "2" {
			t.Errorf("the connection Secret has %q", secret.Data)
		}
	})
	t.Run("credentials rotated: users are woken and get a new client (R232)", func(t *testing.T) {
		created, closed := r.created(), r.journal.closedClients()
		r.rotate("second")
		r.until("clients created", r.created, created+3)
		r.until("clients closed", r.journal.closedClients, closed+3)
		r.Eventually(t, "all items are served by the new key", func(context.Context) error {
			for _, i := range []*reefItem{byConfig, byTeam, byCluster} {
				if !r.depot.served("second", i.GetName()) {
					return errors.New(i.GetName() + " is not")
				}
			}
			return nil
		})
	})
	t.Run("counted", func(t *testing.T) { r.checkMetrics(t) })
	t.Run("a configuration in use is not deleted (N12)", func(t *testing.T) {
		r.Delete(team)
		r.Eventually(t, "it reports its user", func(ctx context.Context) error {
			err := r.Client.Get(ctx, client.ObjectKeyFromObject(team), team)
			if ready := team.GetCondition(xpv1.TypeReady); err != nil || ready.Reason != providerconfig.ReasonInUse {
				return fmt.Errorf("%+v, error %w", ready, err)
			}
			return nil
		})
	})
	t.Run("deleted", func(t *testing.T) {
		r.Delete(byConfig, byTeam, byCluster, config, cluster)
		for _, o := range []client.Object{byConfig, byTeam, byCluster, config, team, cluster} {
			r.Eventually(t, o.GetName()+" is deleted", testkit.Gone(r.Client, o))
		}
		r.until("items", r.depot.itemCount, 0)
	})
	t.Run("another shard's are left alone", func(t *testing.T) {
		r.must(r.Client.Get(t.Context(), client.ObjectKeyFromObject(byForeign), byForeign))
		if len(byForeign.GetFinalizers()) > 0 || byForeign.Object["status"] != nil {
			t.Errorf("%v", byForeign.Object)
		}
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	failIf(t, "the rules allow all that it does (N12, N29)", len(r.refused) > 0, "refused: %q", r.refused)
}

// checkInUse checks that a configuration and its Secret are protected, and count the user.
func (r *reef) checkInUse(t *testing.T, team *unstructured.ProviderConfig) {
	secret := &corev1.Secret{ObjectMeta: r.Meta(r.Namespace, "key")}
	r.Eventually(t, "the configuration and its Secret are protected (N12)", func(ctx context.Context) error {
		for _, o := range []client.Object{team, secret} {
			if err := r.Client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
				return err
			}
		}
		if !slices.Contains(team.GetFinalizers(), providerconfig.Finalizer) || !slices.Contains(secret.Finalizers, providerconfig.SecretFinalizer) ||
			team.GetUsers() != 1 || team.GetCondition(xpv1.TypeReady).Status != corev1.ConditionTrue {
			return fmt.Errorf("%v, finalizers of the Secret: %q", team.Object, secret.Finalizers)
		}
		return nil
	})
}

// checkIdle waits for twenty polls without a read or write of the API.
func (r *reef) checkIdle(t *testing.T) {
	r.Eventually(t, "twenty polls without requests", func(context.Context) error {
		r.take()
		r.atLeast("polls", r.depot.allRequests, r.depot.allRequests()+20)
		if made := r.take(); len(made) > 0 {
			return fmt.Errorf("%d requests: %q", len(made), slices.Compact(made))
		}
		return nil
	})
}

// checkPlan plans an update in a manager of another process, which runs no controllers.
func (r *reef) checkPlan(t *testing.T, i *reefItem) {
	scheme := runtime.NewScheme()
	r.must(corev1.AddToScheme(scheme))
	var all map[schema.GroupKind]*managed.Reconciler
	stop := controlplanetest.RunManager(t, r.Config, ctrl.Options{Scheme: scheme, Cache: managed.CacheOptions()}, func(mgr ctrl.Manager) (err error) {
		all, err = r.provider.Reconcilers(mgr)
		return err
	})
	defer stop()
	larger := i.DeepCopyObject().(*reefItem)
	larger.Object["spec"].(map[string]any)["forProvider"] = map[string]any{"size": int64(9)}
	plan, err := all[i.GroupVersionKind().GroupKind()].Plan(t.Context(), larger)
	if err != nil || plan.Action != managed.PlanUpdate {
		t.Errorf("planned %+v, error %v", plan, err)
	}
}

// checkMetrics checks that objects and configurations are counted.
func (r *reef) checkMetrics(t *testing.T) {
	families, err := metrics.Registry.Gather()
	r.must(err)
	counts := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "kind" && strings.HasSuffix(l.GetValue(), "."+r.groups.Namespaced.Group) {
					counts[f.GetName()+" "+l.GetValue()] += m.GetGauge().GetValue()
				}
			}
		}
	}
	for of, want := range map[string]float64{
		"bowline_provider_configs providerconfig.": 1, "bowline_provider_configs clusterproviderconfig.": 2, "bowline_managed_resources item.": 3,
	} {
		if got := counts[of+r.groups.Namespaced.Group]; got != want {
			t.Errorf("%s: %v, want %v: %v", of, got, want, counts)
		}
	}
}

var _ resource.Managed = &reefItem{}
