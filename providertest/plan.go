// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A planner asks what passes would do, as a program that runs no controllers does.
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
			t.Errorf("N8 plans wrote %d times to the API server", n)
		}
	})
	config := rest.CopyConfig(w.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readsOnly{writes, next} })
	uncached := ctrl.Options{Scheme: w.Scheme, NewClient: client.New}
	controlplanetest.RunManager(t, config, uncached, func(mgr ctrl.Manager) (err error) {
		p.of, err = w.provider.Reconcilers(mgr)
		return err
	})
	return p
}

// readsOnly counts requests that change something.
type readsOnly struct {
	writes *atomic.Int64
	next   http.RoundTripper
}

func (r readsOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodGet {
		r.writes.Add(1)
	}
	return r.next.RoundTrip(request)
}

func (p *planner) kind(t *testing.T, mg resource.Managed) schema.GroupKind {
	t.Helper()
	kind, err := p.Client.GroupVersionKindFor(mg)
	if err != nil {
		t.Fatal(err)
	}
	return kind.GroupKind()
}

// covers wants a case for each kind of the provider.
func (p *planner) covers(t *testing.T, cases map[string]Drift) {
	t.Helper()
	seen := map[schema.GroupKind]bool{}
	for _, d := range cases {
		seen[p.kind(t, d.Object)] = true
	}
	for kind := range p.of {
		if !seen[kind] {
			t.Errorf("N8 kind %s has no case: add one that says how it drifts", kind)
		}
	}
}

// plan says what a pass over the object would do.
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

// creates wants the creation of an object to be planned that is not stored, and nothing to be written to the external system.
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

// plansChanges wants plans for an object that may only look at what drifted, and for what it could be. The external system keeps
// what it has.
func (p *planner) plansChanges(t *testing.T, d Drift) {
	t.Helper()
	before, err := d.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if looks := p.plan(t, d.Object); looks.Action != managed.PlanNothing || looks.Message == "" {
		t.Errorf("R114 an object that may only look plans %+v", looks)
	}
	may := d.Object.DeepCopyObject().(resource.Managed)
	may.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionAll})
	p.plans(t, "N8 P80 what differs", may, managed.Plan{Action: managed.PlanUpdate, Fields: d.Want})
	may.SetDeletionTimestamp(new(metav1.Now()))
	p.plans(t, "N8 a deleted object", may, managed.Plan{Action: managed.PlanDelete})
	if after, err := d.State(t.Context()); err != nil || after != before {
		t.Errorf("plans made %v of %v, error %v", after, before, err)
	}
}
