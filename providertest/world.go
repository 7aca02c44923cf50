// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package providertest runs a provider against a real API server, and checks what all its kinds have to do for their users.
//
// Its one idea: what is the same for all kinds is derived from the provider's value, so that a test only describes what is special
// about a kind: how its external resource may drift.
//
//	func TestMain(m *testing.M) { os.Exit(providertest.Main(m, mine.Provider())) }
//
//	func TestDrift(t *testing.T) {
//		w := providertest.New(t, mine.Provider())
//		w.Start(t)
//		w.TestDrift(t, writes, map[string]providertest.Drift{"Bucket": {...}})
//	}
//
// Package controlplanetest has the server, and the other methods of a World.
package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// mine is the label of the cluster-scoped objects that a world's controllers reconcile. Its value is the world's namespace.
const mine = "bowline.dev/test"

// Main runs the tests of a package against a server that has the provider's kinds, and returns the exit code.
func Main(m *testing.M, p provider.Provider) int {
	crds, err := p.Definitions()
	if err != nil {
		fmt.Fprintln(os.Stderr, "providertest:", err)
		return 1
	}
	return controlplanetest.Main(m, crds...)
}

// A World is one test's share of the server, for a provider.
type World struct {
	*controlplanetest.Env
	provider provider.Provider
}

// New returns a world without controllers. Its client knows the provider's kinds and those of Kubernetes.
func New(t testing.TB, p provider.Provider) *World {
	t.Helper()
	s := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(s), p.AddToScheme(s)); err != nil {
		t.Fatal(err)
	}
	return &World{Env: controlplanetest.NewWithScheme(t, s), provider: p}
}

// Start runs the provider's controllers until the test ends. They reconcile the objects in the world's namespace and the
// cluster-scoped ones that the world created. Default poll interval: one second; default backoff: a tenth of a second to a second.
func (w *World) Start(t testing.TB, o ...managed.ReconcilerOption) {
	t.Helper()
	options := managed.CacheOptions()
	options.DefaultNamespaces = map[string]cache.Config{w.Namespace: {}}
	for _, k := range w.provider.Kinds {
		if !w.isNamespaced(t, k.Object) {
			options.ByObject[k.Object] = cache.ByObject{Label: labels.SelectorFromSet(labels.Set{mine: w.Namespace})}
		}
	}
	fast := []managed.ReconcilerOption{managed.WithPollInterval(time.Second), managed.WithBackoff(100*time.Millisecond, time.Second)}
	controlplanetest.RunManager(t, w.Config, ctrl.Options{Scheme: w.Scheme, Cache: options}, func(mgr ctrl.Manager) error {
		return w.provider.SetupWithManager(mgr, append(fast, o...)...)
	})
}

func (w *World) isNamespaced(t testing.TB, o client.Object) bool {
	t.Helper()
	namespaced, err := w.Client.IsObjectNamespaced(o)
	if err != nil {
		t.Fatal(err)
	}
	return namespaced
}

// Place puts an object into the world: into its namespace if it has none and needs one, under its controllers if it is
// cluster-scoped.
func (w *World) Place(t testing.TB, o client.Object) {
	t.Helper()
	if !w.isNamespaced(t, o) {
		o.SetLabels(labels.Merge(o.GetLabels(), labels.Set{mine: w.Namespace}))
	} else if o.GetNamespace() == "" {
		o.SetNamespace(w.Namespace)
	}
}

// Create places an object and creates it. It is removed when the test ends.
func (w *World) Create(t testing.TB, o client.Object) {
	t.Helper()
	w.Place(t, o)
	if err := w.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Remove(t, o) })
}

// Remove deletes an object and waits until it is deleted, for at most half a minute.
func (w *World) Remove(t testing.TB, o client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second) // the test's own context may have ended
	defer cancel()
	err := testkit.Poll(ctx, func() error {
		switch err := w.Client.Delete(ctx, o); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("it is still there")
	})
	if err != nil {
		t.Errorf("deleting %T %s: %v", o, o.GetName(), err)
	}
}

// Settled waits until objects were reconciled in their present form and are Ready, and reads them.
func (w *World) Settled(t testing.TB, objects ...resource.Managed) {
	t.Helper()
	for _, mg := range objects {
		w.Eventually(t, fmt.Sprintf("%T %s is Ready", mg, mg.GetName()), testkit.Settled(w.Client, mg))
	}
}

// Change edits the object's latest state and waits until the change is reconciled.
func (w *World) Change(t testing.TB, mg resource.Managed, edit func()) {
	t.Helper()
	before := mg.DeepCopyObject().(client.Object)
	edit()
	if err := w.Client.Patch(t.Context(), mg, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.Settled(t, mg)
}

// A Drift is an object whose external resource is changed outside of Bowline.
type Drift struct {
	// Object can be created. The functions below see it as it is stored.
	Object resource.Managed
	// Creates are the paths of the fields that its creation sets, sorted.
	Creates []string
	// Taken returns a setting that the object took over from the external resource because it was unset: not nil, not empty. Nil if the
	// external system chooses no setting.
	Taken func() any
	// Left returns a setting that it must not take over, since others may change it: nil. Optional.
	Left func() any
	// Change changes the external resource.
	Change func(context.Context) error
	// Want is the drift after Change.
	Want []xpv1.FieldDifference
	// State returns what Change changes of the external resource.
	State func(context.Context) (any, error)
	// Declared is the State that the object declares.
	Declared any
}

// TestDrift creates an object of each kind, limits its management policies to Observe, changes the external resource, checks the
// reported drift and the plan, and lifts the limit. Every kind of the provider needs a case. writes returns a
// comparable value that changes with every write to the external system.
func (w *World) TestDrift(t *testing.T, writes func(context.Context) (any, error), cases map[string]Drift) {
	t.Helper()
	p := w.planner(t)
	uncovered := maps.Clone(p.of)
	for name, d := range cases {
		delete(uncovered, p.kind(t, d.Object))
		w.Place(t, d.Object)
		t.Run("plan of a new "+name, func(t *testing.T) { p.creates(t, d, writes) })
	}
	for kind := range uncovered {
		t.Errorf("kind %s has no case: add one with its drift", kind)
	}
	for name, d := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w.heals(t, d, p)
		})
	}
}

func (w *World) heals(t *testing.T, d Drift, p *planner) {
	w.Create(t, d.Object)
	w.Settled(t, d.Object)
	if d.Taken != nil {
		if taken := fmt.Sprint(d.Taken()); taken == "" || taken == "<nil>" {
			t.Error("no setting that the external system chose is taken over")
		}
	}
	if d.Left != nil && fmt.Sprint(d.Left()) != "<nil>" {
		t.Errorf("%v would be enforced, though it is unset", d.Left())
	}
	p.plans(t, "nothing changed", d.Object, managed.Plan{Action: managed.PlanNothing})
	w.Change(t, d.Object, func() { d.Object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionObserve}) })
	if err := d.Change(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "the object reports drift", func(ctx context.Context) error { return w.reports(ctx, d.Object, d.Want) })
	p.plansChanges(t, d)
	w.Change(t, d.Object, func() { d.Object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionAll}) })
	w.Eventually(t, "it is as declared again", func(ctx context.Context) error {
		if got, err := d.State(ctx); err != nil || got != d.Declared {
			return fmt.Errorf("it is %v, want %v; error %v", got, d.Declared, err)
		}
		return w.reports(ctx, d.Object, nil)
	})
}

// reports returns nil if the object's status reports this drift.
func (w *World) reports(ctx context.Context, mg resource.Managed, want []xpv1.FieldDifference) error {
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
		return err
	}
	if diff := cmp.Diff(want, mg.(resource.Drifting).GetDrift()); diff != "" {
		return fmt.Errorf("status.drift -want +got:\n%s", diff)
	}
	inSync := mg.GetCondition(xpv1.TypeInSync)
	if (inSync.Status == corev1.ConditionTrue) != (len(want) == 0) || (len(want) > 0 && inSync.Reason != xpv1.ReasonDrifted) {
		return fmt.Errorf("InSync is %s: %s", inSync.Status, inSync.Reason)
	}
	return nil
}

// A planner plans reconciles without running controllers.
type planner struct {
	*World
	of map[schema.GroupKind]*managed.Reconciler
}

// planner fails the test if it writes anything to the API server.
func (w *World) planner(t *testing.T) *planner {
	t.Helper()
	p, writes := &planner{World: w}, &atomic.Int64{}
	t.Cleanup(func() {
		if n := writes.Load(); n > 0 {
			t.Errorf("plans wrote %d times to the API server", n)
		}
	})
	config := fault.InterceptWrites(w.Config, func(string) (refuse, lose error) {
		writes.Add(1)
		return nil, nil
	})
	uncached := ctrl.Options{Scheme: w.Scheme, NewClient: client.New}
	controlplanetest.RunManager(t, config, uncached, func(mgr ctrl.Manager) (err error) {
		p.of, err = w.provider.Reconcilers(mgr)
		return err
	})
	return p
}

func (p *planner) kind(t *testing.T, mg resource.Managed) schema.GroupKind {
	t.Helper()
	kind, err := p.Client.GroupVersionKindFor(mg)
	if err != nil {
		t.Fatal(err)
	}
	return kind.GroupKind()
}

// plan returns what a reconcile of the object would do.
func (p *planner) plan(t *testing.T, mg resource.Managed) managed.Plan {
	t.Helper()
	plan, err := p.of[p.kind(t, mg)].Plan(t.Context(), mg)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func (p *planner) plans(t *testing.T, when string, mg resource.Managed, want managed.Plan) {
	t.Helper()
	if diff := cmp.Diff(want, p.plan(t, mg)); diff != "" {
		t.Errorf("%s: plan -want +got:\n%s", when, diff)
	}
}

// creates checks the plan of an object that is not stored, and that planning writes nothing to the external system.
func (p *planner) creates(t *testing.T, d Drift, writes func(context.Context) (any, error)) {
	before, err := writes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan := p.plan(t, d.Object.DeepCopyObject().(resource.Managed))
	var fields []string
	for _, f := range plan.Fields {
		fields = append(fields, f.Path)
	}
	if diff := cmp.Diff(d.Creates, fields); diff != "" || plan.Action != managed.PlanCreate {
		t.Errorf("%s %q of fields -want +got:\n%s", plan.Action, plan.Message, diff)
	}
	if after, err := writes(t.Context()); err != nil || after != before {
		t.Errorf("a plan writes to the external system: before %v, after %v, error %v", before, after, err)
	}
}

// plansChanges checks plans of an object that may only observe its drift, and of the same object with all rights and deleted.
// Planning changes nothing in the external system.
func (p *planner) plansChanges(t *testing.T, d Drift) {
	t.Helper()
	before, err := d.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if plan := p.plan(t, d.Object); plan.Action != managed.PlanNothing || plan.Message == "" {
		t.Errorf("an object that may only observe plans %+v", plan)
	}
	may := d.Object.DeepCopyObject().(resource.Managed)
	may.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionAll})
	p.plans(t, "drift", may, managed.Plan{Action: managed.PlanUpdate, Fields: d.Want})
	may.SetDeletionTimestamp(new(metav1.Now()))
	p.plans(t, "a deleted object", may, managed.Plan{Action: managed.PlanDelete})
	if after, err := d.State(t.Context()); err != nil || after != before {
		t.Errorf("plans changed %v to %v, error %v", before, after, err)
	}
}
