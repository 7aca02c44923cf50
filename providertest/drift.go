// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"context"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/internal/testkit/fault"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Drift is an object whose external resource is changed outside of Bowline.
type Drift struct {
	// Object can be created. The functions below see it as it is stored.
	Object resource.Managed
	// Creates are the paths of the fields that its creation sets, sorted.
	Creates []string
	// Taken returns a setting that the object took over from the external resource because it was unset: not nil, not empty.
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
// reported drift and the plan, and lifts the limit (R40, N8, P80, P81). Every kind of the provider needs a case. writes returns a
// comparable value that changes with every write to the external system.
func (w *World) TestDrift(t *testing.T, writes func(context.Context) (any, error), cases map[string]Drift) {
	t.Helper()
	p := w.planner(t)
	uncovered := maps.Clone(p.of)
	for name, d := range cases {
		delete(uncovered, p.kind(t, d.Object))
		w.Place(t, d.Object)
		t.Run("plan of a new "+name+" (N8)", func(t *testing.T) { p.creates(t, d, writes) })
	}
	for kind := range uncovered {
		t.Errorf("kind %s has no case: add one with its drift (N8)", kind)
	}
	for name, d := range cases {
		t.Run(name+" (R40, R114, R149, R150, N8, P80, P81)", func(t *testing.T) {
			t.Parallel()
			w.heals(t, d, p)
		})
	}
}

func (w *World) heals(t *testing.T, d Drift, p *planner) {
	w.Create(t, d.Object)
	w.Settled(t, d.Object)
	if taken := fmt.Sprint(d.Taken()); taken == "" || taken == "<nil>" {
		t.Error("no setting that the external system chose is taken over (R149, R150)")
	}
	if d.Left != nil && fmt.Sprint(d.Left()) != "<nil>" {
		t.Errorf("%v would be enforced, though it is unset (R146)", d.Left())
	}
	p.plans(t, "nothing changed (N8)", d.Object, managed.Plan{Action: managed.PlanNothing})
	w.Change(t, d.Object, func() { d.Object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionObserve}) })
	if err := d.Change(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "the object reports drift (N8, P80, P81)", func(ctx context.Context) error { return w.reports(ctx, d.Object, d.Want) })
	p.plansChanges(t, d)
	w.Change(t, d.Object, func() { d.Object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionAll}) })
	w.Eventually(t, "it is as declared again (R40)", func(ctx context.Context) error {
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
			t.Errorf("plans wrote %d times to the API server (N8)", n)
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
		t.Errorf("an object that may only observe plans %+v (R114)", plan)
	}
	may := d.Object.DeepCopyObject().(resource.Managed)
	may.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionAll})
	p.plans(t, "drift (N8, P80)", may, managed.Plan{Action: managed.PlanUpdate, Fields: d.Want})
	may.SetDeletionTimestamp(new(metav1.Now()))
	p.plans(t, "a deleted object (N8)", may, managed.Plan{Action: managed.PlanDelete})
	if after, err := d.State(t.Context()); err != nil || after != before {
		t.Errorf("plans changed %v to %v, error %v", before, after, err)
	}
}
