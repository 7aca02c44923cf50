// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A Drift is an object whose external resource somebody changes behind its back.
type Drift struct {
	// Object is one that can be created. Its functions see it as it is stored.
	Object resource.Managed
	// Creates are the paths of the fields that its creation sets, sorted.
	Creates []string
	// Taken is what the object took over from the external resource because nobody declared it: not nil and not empty.
	Taken func() any
	// Left is what it must not take over, since others may change it: nil. Default: there is no such thing.
	Left func() any
	// Change is what somebody does to the external resource.
	Change func(context.Context) error
	// Want is how it differs then.
	Want []xpv1.FieldDifference
	// State is what the external resource is like, as far as Change changes it.
	State func(context.Context) (any, error)
	// Declared is the State that the object declares.
	Declared any
}

// TestDrift makes an object of each kind, takes the right to change anything from it, changes the external resource by hand,
// sees what the object says and what is planned, and gives the right back (R40, N8, P80, P81). There has to be a case of each
// kind of the provider. writes returns something comparable that changes with all that is written to the external system.
func (w *World) TestDrift(t *testing.T, writes func(context.Context) (any, error), cases map[string]Drift) {
	t.Helper()
	p := w.planner(t)
	p.covers(t, cases)
	for name, d := range cases {
		w.Place(t, d.Object)
		t.Run("N8 plan of a new "+name, func(t *testing.T) { p.creates(t, d, writes) })
	}
	for name, d := range cases {
		t.Run("R40 R114 R149 R150 N8 P80 P81 "+name, func(t *testing.T) {
			t.Parallel()
			w.heals(t, d, p)
		})
	}
}

func (w *World) heals(t *testing.T, d Drift, p *planner) {
	w.Create(t, d.Object)
	w.Settled(t, d.Object)
	if taken := fmt.Sprint(d.Taken()); taken == "" || taken == "<nil>" {
		t.Error("R149 R150 nothing is taken over of what the external system chose")
	}
	if d.Left != nil && fmt.Sprint(d.Left()) != "<nil>" {
		t.Errorf("R146 %v would be enforced, which nobody chose", d.Left())
	}
	p.plans(t, "N8 nothing changed", d.Object, managed.Plan{Action: managed.PlanNothing})
	w.Change(t, d.Object, func() { d.Object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionObserve}) })
	if err := d.Change(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Eventually(t, "N8 P80 P81 the object tells what differs", func(ctx context.Context) error { return w.tells(ctx, d.Object, d.Want) })
	p.plansChanges(t, d)
	w.Change(t, d.Object, func() { d.Object.SetManagementPolicies(xpv1.ManagementPolicies{xpv1.ManagementActionAll}) })
	w.Eventually(t, "R40 it is as declared again", func(ctx context.Context) error {
		if got, err := d.State(ctx); err != nil || got != d.Declared {
			return fmt.Errorf("it is %v, want %v; error %v", got, d.Declared, err)
		}
		return w.tells(ctx, d.Object, nil)
	})
}

// tells returns nil if the object's status says that this differs, in fields and in words.
func (w *World) tells(ctx context.Context, mg resource.Managed, want []xpv1.FieldDifference) error {
	if err := w.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
		return err
	}
	if diff := cmp.Diff(want, mg.(resource.Drifting).GetDrift()); diff != "" {
		return fmt.Errorf("status.drift -want +got:\n%s", diff)
	}
	said := mg.GetCondition(xpv1.TypeInSync)
	if (said.Status == corev1.ConditionTrue) != (len(want) == 0) {
		return fmt.Errorf("InSync is %s: %s", said.Status, said.Reason)
	}
	for _, field := range want {
		if said.Reason != xpv1.ReasonDrifted || !strings.Contains(said.Message, field.Path) {
			return fmt.Errorf("InSync says %s %q, without %s", said.Reason, said.Message, field.Path)
		}
	}
	return nil
}
