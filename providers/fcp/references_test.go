// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// references has objects that refer to each other created in the wrong order and deleted almost at once. Nobody polls.
func references(t *testing.T) {
	w := newWorld(t, managed.WithPollInterval(time.Hour), managed.WithBackoff(time.Hour, time.Hour))
	g := w.nodeGroup("workers")
	g.Spec.ForProvider.SubnetIDRefs = []xpv1.Reference{{Name: "part"}}
	w.Create(t, g)
	w.says(t, g, `spec.forProvider.subnetIds: Subnet "part"`)
	s := w.subnet("part", "", "10.0.1.0/24")
	s.Spec.ForProvider.NetworkIDSelector = &xpv1.Selector{MatchLabels: map[string]string{"app": "shop"}}
	w.Create(t, s)
	w.says(t, s, "app=shop")
	w.says(t, g, "has no external name yet")
	if stats, err := w.admin.Stats(t.Context()); err != nil || stats.Count("", "", "") > 0 {
		t.Errorf("the cloud was called before references were resolved: %+v, %v (R166)", stats, err)
	}

	n := w.network("shop")
	n.Labels = map[string]string{"app": "shop"}
	w.Create(t, n)
	w.Settled(t, n)
	w.Settled(t, s)
	w.Settled(t, g)
	if ref := s.Spec.ForProvider.NetworkIDRef; *s.Spec.ForProvider.NetworkID != meta.GetExternalName(n) || ref == nil || ref.Name != "shop" {
		t.Errorf("%+v (R162, R165)", s.Spec.ForProvider)
	}
	have, err := w.groups.Get(t.Context(), "workers")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{meta.GetExternalName(s)}
	if !cmp.Equal(have.SubnetIDs, want) || !cmp.Equal(g.Spec.ForProvider.SubnetIDs, want) {
		t.Errorf("the cloud has %v, the object %v, want %v (R161, R170)", have.SubnetIDs, g.Spec.ForProvider.SubnetIDs, want)
	}

	slow := sdk.FaultRule{Latency: "300ms", Match: &sdk.FaultMatch{Method: http.MethodDelete, Service: "node-groups"}}
	if err := w.admin.SetFaults(t.Context(), slow); err != nil {
		t.Fatal(err)
	}
	all := []resource.Managed{g, s, n}
	for _, o := range all {
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	w.Eventually(t, "all are gone", func(ctx context.Context) error {
		for _, o := range all {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(o), o); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%s is still there: %v, %v", o.GetName(), err, o.GetCondition(xpv1.TypeSynced))
			}
		}
		return nil
	})
	if stats, err := w.admin.Stats(t.Context()); err != nil || stats.Count(http.MethodDelete, "", sdk.OutcomeRefused) > 0 {
		t.Errorf("deleted in the wrong order: %+v, %v (N32)", stats, err)
	}
}
