// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/meta"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/test/inspect"
)

// Scenario 5: the cloud created the network, and its name was not recorded. It is found without manual intervention.
func cutOff(t *testing.T, s *stage) {
	deaf := sdk.FaultRule{DropRate: 1, Match: &sdk.FaultMatch{Method: http.MethodPost, Service: "networks"}}
	slow := sdk.FaultRule{Latency: "20s", Match: &sdk.FaultMatch{Method: http.MethodGet, Service: "networks"}} // no poll before the kill
	s.disturb(t, deaf, slow)
	if err := s.Admin(t).ResetStats(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := newNetwork("cut-off")
	s.Create(t, n)
	s.Eventually(t, within, "the cloud has created a network and lost the answer", func(ctx context.Context) error {
		n, err := s.creations(ctx, t) // Go's client repeats it on each connection that it reuses
		if err == nil && n == 0 {
			err = errors.New("no network was created")
		}
		return err
	})
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(n), n); err != nil {
		t.Fatal(err)
	}
	if !meta.ExternalCreateIncomplete(n) || meta.GetExternalName(n) != "" {
		t.Errorf("the creation is recorded already: %v", n.Annotations)
	}
	s.Kill(t)
	s.Up(t)
	awaitSettled(t, s.Plane, n)
	found, err := s.cloud.Networks.List(t.Context(), inspect.OwnedBy(n.UID))
	if err != nil || len(found) != 1 || found[0].ID != meta.GetExternalName(n) {
		t.Errorf("the cloud has %+v (%v), want one network, %s", found, err, meta.GetExternalName(n))
	}
	if again, err := s.creations(t.Context(), t); err != nil || again > 0 {
		t.Errorf("since the kill, the network was created %d times more, %v", again, err)
	}
	if out, err := s.Run(t.Context(), "leaks"); err != nil || strings.Contains(out, n.Name) {
		t.Errorf("bowline leaks: %v\n%s", err, out)
	}
}

// disturb sets faults that need not end with the test: a kill may forget them.
func (s *stage) disturb(t *testing.T, rules ...sdk.FaultRule) {
	t.Helper()
	if err := s.Admin(t).SetFaults(t.Context(), rules...); err != nil {
		t.Fatal(err)
	}
}

// creations returns how often the creation of a network was requested.
func (s *stage) creations(ctx context.Context, t *testing.T) (int, error) {
	stats, err := s.Admin(t).Stats(ctx)
	return stats.Count(http.MethodPost, "networks", ""), err
}

// newNetwork returns a network of no namespace.
func newNetwork(name string) *networkv1alpha3.Network {
	n := &networkv1alpha3.Network{ObjectMeta: metav1.ObjectMeta{Name: name}}
	n.Spec.ForProvider.CIDRBlock = new("10.0.0.0/16")
	return n
}
