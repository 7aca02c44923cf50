// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/resource"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	"github.com/bowline-dev/bowline/test/plane"
)

const (
	poorPairs     = 20 // of a network and a subnet in it
	poorDatabases = 5
	poorPatience  = 2 * time.Minute
	updated       = "updated"
)

// Scenario 12: a cloud that fails, loses answers, is slow and eventually consistent, from creation to deletion.
func poorCloud(t *testing.T, s *stage) {
	p := newPoor(s)
	for _, phase := range []struct {
		name string
		live func(*testing.T)
	}{
		{"created (R88, N5, N22, N26)", p.create},
		{"updated (R24, R36)", p.update},
		{"deleted (R53, R54, R60)", p.delete},
	} {
		if !t.Run(phase.name, phase.live) {
			return
		}
	}
}

// poor are objects whose cloud is.
type poor struct {
	*stage

	phases                       uint64
	networks, subnets, databases []resource.Managed
}

// newPoor declares the objects.
func newPoor(s *stage) *poor {
	p := &poor{stage: s}
	for i := range poorPairs {
		name := metav1.ObjectMeta{Namespace: plane.Namespace, Name: fmt.Sprintf("poor-%d", i)}
		whole, part := &networkv1alpha3.Network{ObjectMeta: name}, &networkv1alpha3.Subnet{ObjectMeta: name}
		whole.Spec.ForProvider.CIDRBlock = new("10.0.0.0/16")
		part.Spec.ForProvider.CIDRBlock = new("10.0.1.0/24")
		part.Spec.ForProvider.NetworkIDRef = &xpv1.Reference{Name: name.Name}
		p.networks, p.subnets = append(p.networks, whole), append(p.subnets, part)
	}
	for i := range poorDatabases {
		p.databases = append(p.databases, plane.Database(fmt.Sprintf("poor-%d", i), 20))
	}
	return p
}

func (p *poor) create(t *testing.T) {
	p.inPoorCloud(t, p.settled, func(o client.Object) error { return p.Client.Create(t.Context(), o) })
	p.counted(t)
	p.opened(t)
}

func (p *poor) update(t *testing.T) {
	p.inPoorCloud(t, p.settled, func(o client.Object) error { return p.change(t.Context(), o) })
	p.counted(t)
	p.opened(t)
	p.changed(t)
}

func (p *poor) delete(t *testing.T) {
	p.inPoorCloud(t, p.deleted, func(o client.Object) error { return p.Client.Delete(t.Context(), o) })
	p.networks, p.subnets, p.databases = nil, nil, nil
	p.counted(t)
	if left := p.Servers(t); len(left) > 0 {
		t.Errorf("database servers are left: %v", left)
	}
}

func (p *poor) all() []resource.Managed {
	return append(append(append([]resource.Managed{}, p.subnets...), p.databases...), p.networks...)
}

// inPoorCloud does something with every object in a poor cloud, and waits until each is done.
func (p *poor) inPoorCloud(t *testing.T, done func(context.Context, resource.Managed) error, do func(client.Object) error) {
	t.Helper()
	p.phases++
	p.disturb(t, sdk.FaultRule{ErrorRate: 0.05, DropRate: 0.05, Latency: "200ms", StaleReads: "2s", Seed: p.phases})
	begin := time.Now()
	for _, mg := range p.all() {
		if err := do(mg); err != nil {
			t.Fatal(err)
		}
	}
	all := func(ctx context.Context) error {
		for _, mg := range p.all() {
			if err := done(ctx, mg); err != nil {
				return err
			}
		}
		return nil
	}
	p.Eventually(t, poorPatience, "all are as they should be", all)
	stats, err := p.Admin(t).Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects took %s; so far %d calls, %d failed, %d answers lost", len(p.all()), time.Since(begin).Round(time.Millisecond),
		stats.Count("", "", ""), stats.Count("", "", sdk.OutcomeError), stats.Count("", "", sdk.OutcomeDropped))
	p.disturb(t)
	p.Eventually(t, poorPatience, "no earlier poll failed", all) // one may have, after the last check
}

func (p *poor) settled(ctx context.Context, mg resource.Managed) error {
	return settled(ctx, p.Plane, mg)
}

func (p *poor) deleted(ctx context.Context, mg resource.Managed) error {
	return deleted(ctx, p.Plane, mg)
}

// change changes a setting of an object.
func (p *poor) change(ctx context.Context, o client.Object) error {
	change := `{"description":"` + updated + `"}`
	switch o.(type) {
	case *networkv1alpha3.Subnet:
		change = `{"labels":{"state":"` + updated + `"}}`
	case *databasev1alpha3.FavouriteDBInstance:
		change = `{"fancinessLevel":30}`
	}
	return p.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"forProvider":`+change+`}}`)))
}

// counted checks that the cloud holds exactly one for each object.
func (p *poor) counted(t *testing.T) {
	t.Helper()
	have, err := p.cloud.Census(t.Context())
	if err := errors.Join(err,
		have.Exactly("network", uids(p.networks)),
		have.Exactly("subnet", uids(p.subnets)),
		have.Exactly("database", uids(p.databases))); err != nil {
		t.Error(err)
	}
}

func uids(all []resource.Managed) (uids []types.UID) {
	for _, mg := range all {
		uids = append(uids, mg.GetUID())
	}
	return uids
}

// opened checks that every password opens its server, which is as declared.
func (p *poor) opened(t *testing.T) {
	t.Helper()
	for _, db := range p.databases {
		works(t, p.Plane, db.GetName())
	}
}

// changed checks that the cloud has every update.
func (p *poor) changed(t *testing.T) {
	t.Helper()
	networks, networksErr := p.cloud.Networks.List(t.Context(), nil)
	for _, n := range networks {
		if n.Description != updated {
			t.Errorf("network %+v is not updated", n)
		}
	}
	subnets, subnetsErr := p.cloud.Subnets.List(t.Context(), map[string]string{"state": updated})
	if len(subnets) != len(p.subnets) || networksErr != nil || subnetsErr != nil {
		t.Errorf("%d subnets are updated, %v, %v", len(subnets), networksErr, subnetsErr)
	}
}
