// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
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
	"github.com/bowline-dev/bowline/providers/fcp"
)

// A planner asks what passes would do, as a program that runs no controllers does.
type planner struct {
	*world
	of     map[schema.GroupKind]*managed.Reconciler
	writes *atomic.Int64 // to the API server
}

// planner fails the test if it writes anything to the API server.
func (w *world) planner(t *testing.T) *planner {
	t.Helper()
	p := &planner{world: w, writes: &atomic.Int64{}}
	t.Cleanup(func() {
		if n := p.writes.Load(); n > 0 {
			t.Errorf("N8 plans wrote %d times to the API server", n)
		}
	})
	config := rest.CopyConfig(w.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return readsOnly{p.writes, next} })
	uncached := ctrl.Options{Scheme: w.Scheme, NewClient: client.New}
	controlplanetest.RunManager(t, config, uncached, func(mgr ctrl.Manager) (err error) {
		p.of, err = fcp.Provider().Reconcilers(mgr)
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

// covers wants a row for each kind of the provider.
func (p *planner) covers(t *testing.T, cases map[string]driftCase) {
	t.Helper()
	rows := map[schema.GroupKind]bool{}
	for _, tc := range cases {
		rows[p.kind(t, tc.object)] = true
	}
	for kind := range p.of {
		if !rows[kind] {
			t.Errorf("N8 kind %s has no row: add one that says how it drifts", kind)
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

// creates wants the creation of an object to be planned that is not stored, and the cloud to hear nothing of it.
func (p *planner) creates(t *testing.T, tc driftCase) {
	mg := tc.object.DeepCopyObject().(resource.Managed)
	if namespaced, err := p.Client.IsObjectNamespaced(mg); err != nil {
		t.Fatal(err)
	} else if namespaced {
		mg.SetNamespace(p.Namespace)
	}
	if err := p.admin.ResetStats(t.Context()); err != nil {
		t.Fatal(err)
	}
	plan := p.plan(t, mg)
	var fields []string
	for _, f := range plan.Fields {
		fields = append(fields, f.Path)
	}
	if diff := cmp.Diff(tc.creates, fields); diff != "" || plan.Action != managed.PlanCreate {
		t.Errorf("%s %q of fields -want +got:\n%s", plan.Action, plan.Message, diff)
	}
	stats, err := p.admin.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if writes := stats.Count("", "", "") - stats.Count(http.MethodGet, "", ""); writes > 0 {
		t.Errorf("a plan wrote to the cloud: %+v", stats)
	}
}

// plansChanges wants plans for an object that may only look at what drifted, and for what it could be. The cloud keeps what it
// has.
func (p *planner) plansChanges(t *testing.T, tc driftCase) {
	t.Helper()
	before, err := tc.healed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if looks := p.plan(t, tc.object); looks.Action != managed.PlanNothing || looks.Message == "" {
		t.Errorf("R114 an object that may only look plans %+v", looks)
	}
	may := tc.object.DeepCopyObject().(resource.Managed)
	may.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionAll})
	p.plans(t, "N8 P80 what differs", may, managed.Plan{Action: managed.PlanUpdate, Fields: tc.want})
	may.SetDeletionTimestamp(new(metav1.Now()))
	p.plans(t, "N8 a deleted object", may, managed.Plan{Action: managed.PlanDelete})
	if after, err := tc.healed(t.Context()); err != nil || after != before {
		t.Errorf("plans made %v of %v, error %v", after, before, err)
	}
}
