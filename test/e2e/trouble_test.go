// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/test/inspect"
)

// Scenarios of the contract's annex C in which the cloud misbehaves, one after the other. What API requests that fail do is
// the matter of `make crashpoints`.
func TestTrouble(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	t.Run("a poor cloud", func(t *testing.T) { poorCloud(t, s) })
	t.Run("killed between creation and record (R77, N5, N26)", func(t *testing.T) { cutOff(t, s) })
}

// Scenario 5: the cloud created the network, and its name was not recorded. It is found without manual intervention.
func cutOff(t *testing.T, s *stage) {
	deaf := sdk.FaultRule{DropRate: 1, Match: &sdk.FaultMatch{Method: http.MethodPost, Service: "networks"}}
	slow := sdk.FaultRule{Latency: "20s", Match: &sdk.FaultMatch{Method: http.MethodGet, Service: "networks"}} // no poll before the kill
	s.disturb(t, deaf, slow)
	if err := s.Admin(t).ResetStats(t.Context()); err != nil {
		t.Fatal(err)
	}
	n := newNetwork("cut-off")
	create(t, s.Plane, n)
	s.Eventually(t, within, "the cloud has created a network and lost the answer", func(ctx context.Context) error {
		return s.created(ctx, t, 1)
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
	if err := s.created(t.Context(), t, 0); err != nil {
		t.Errorf("since the kill, %v", err)
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

// created returns nil if networks were created as often as wanted.
func (s *stage) created(ctx context.Context, t *testing.T, want int) error {
	stats, err := s.Admin(t).Stats(ctx)
	if err != nil {
		return err
	}
	if have := stats.Count(http.MethodPost, "networks", ""); have != want {
		return fmt.Errorf("%d networks were created, want %d", have, want)
	}
	return nil
}
