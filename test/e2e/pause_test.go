// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/resource"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
)

// Scenario 6: deletion completes once the pause ends.
func deletedWhilePaused(t *testing.T, s *stage) {
	n := s.pausedInDeletion(t, "paused")
	patch(t, s.Plane, n, `{"metadata":{"annotations":{"`+meta.AnnotationKeyReconciliationPaused+`":null}}}`)
	s.Eventually(t, within, "the deletion resumes", func(ctx context.Context) error { return deleted(ctx, s.Plane, n) })
	s.has(t, n, 0)
}

// Scenario 6, alternative: the object is deleted, the external resource stays.
func abandonedWhilePaused(t *testing.T, s *stage) {
	n := s.pausedInDeletion(t, "abandoned")
	patch(t, s.Plane, n, `{"metadata":{"annotations":{"`+meta.AnnotationKeyOrphanOnDelete+`":"true"}}}`)
	s.Eventually(t, within, "the object is deleted", func(ctx context.Context) error { return deleted(ctx, s.Plane, n) })
	s.has(t, n, 1)
}

// pausedInDeletion returns a network whose deletion is paused, and reported as that.
func (s *stage) pausedInDeletion(t *testing.T, name string) *networkv1alpha3.Network {
	t.Helper()
	n := newNetwork(name)
	create(t, s.Plane, n)
	awaitSettled(t, s.Plane, n)
	patch(t, s.Plane, n, `{"metadata":{"annotations":{"`+meta.AnnotationKeyReconciliationPaused+`":"true"}}}`)
	s.reportsSynced(t, n, xpv1.ReasonReconcilePaused, meta.AnnotationKeyReconciliationPaused)
	if err := s.Client.Delete(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	s.reportsSynced(t, n, xpv1.ReasonReconcilePaused, meta.AnnotationKeyReconciliationPaused, meta.AnnotationKeyOrphanOnDelete)
	s.has(t, n, 1)
	return n
}

// newNetwork returns a network of no namespace.
func newNetwork(name string) *networkv1alpha3.Network {
	n := &networkv1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec.ForProvider.CIDRBlock = new("10.0.0.0/16")
	return n
}

// reportsSynced waits until condition Synced has the reason and a message of the given parts.
func (s *stage) reportsSynced(t *testing.T, mg resource.Managed, reason xpv1.ConditionReason, parts ...string) {
	t.Helper()
	s.Eventually(t, within, fmt.Sprintf("%s reports %q", mg.GetName(), parts), func(ctx context.Context) error {
		if err := s.Client.Get(ctx, client.ObjectKeyFromObject(mg), mg); err != nil {
			return err
		}
		synced := mg.GetCondition(xpv1.TypeSynced)
		if synced.Reason != reason {
			return fmt.Errorf("reason %s, want %s", synced.Reason, reason)
		}
		return contains(synced.Message, parts)
	})
}

// has checks how many networks the cloud holds for the object.
func (s *stage) has(t *testing.T, n *networkv1alpha3.Network, want int) {
	t.Helper()
	found, err := s.cloud.Networks.List(t.Context(), inspect.OwnedBy(n.UID))
	if err != nil || len(found) != want {
		t.Errorf("the cloud has %d networks of %s (%v), want %d", len(found), n.Name, err, want)
	}
}
