// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud/sdk"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// lostAnswers has a cloud that does the work and never answers: nothing is made twice.
func lostAnswers(t *testing.T) {
	w := newWorld(t)
	first := w.network("first")
	w.Create(t, first)
	w.Settled(t, first)
	s := w.subnet("first", meta.GetExternalName(first), "10.0.1.0/24")
	w.Create(t, s)
	w.Settled(t, s)

	deaf := sdk.FaultRule{DropRate: 1, Match: &sdk.FaultMatch{Method: http.MethodPost}}
	if err := w.admin.SetFaults(t.Context(), deaf); err != nil {
		t.Fatal(err)
	}
	n := w.network("network")
	w.Create(t, n)
	w.Settled(t, n)
	found, err := w.networks.List(t.Context(), map[string]string{meta.ExternalLabelUID: string(n.UID)})
	if err != nil || len(found) != 1 || found[0].ID != meta.GetExternalName(n) {
		t.Errorf("networks %+v, %v; external name %q (N5)", found, err, meta.GetExternalName(n))
	}

	g := w.nodeGroup("workers", meta.GetExternalName(s))
	w.Create(t, g)
	w.Eventually(t, "the cloud has the node group", func(ctx context.Context) error {
		_, err := w.groups.Get(ctx, "workers")
		return err
	})
	if err := w.admin.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Settled(t, g)
	if meta.ExternalCreateIncomplete(g) {
		t.Error("the answer to the repeated creation was not recorded (N22)")
	}
}

// failedCreation has a cloud that fails at a creation, and so may have done the work: nothing is created again before it
// is sure that it has not.
func failedCreation(t *testing.T) {
	w := newWorld(t)
	failing := sdk.FaultRule{ErrorRate: 1, ErrorStatus: http.StatusInternalServerError, Match: &sdk.FaultMatch{Method: http.MethodPost}}
	if err := w.admin.SetFaults(t.Context(), failing); err != nil {
		t.Fatal(err)
	}
	n := w.network("network")
	w.Create(t, n)
	w.Eventually(t, "the creation failed", func(ctx context.Context) error {
		stats, err := w.admin.Stats(ctx)
		if err == nil && stats.Count(http.MethodPost, "networks", "") == 0 {
			err = fmt.Errorf("no creation was tried")
		}
		return err
	})
	w.says(t, n, "cannot create network")
	if meta.GetExternalName(n) != "" || !meta.ExternalCreateIncomplete(n) {
		t.Errorf("the creation counts as failed: %v (N5)", n.Annotations)
	}
	if err := w.admin.ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.Settled(t, n)
	if all, err := w.networks.List(t.Context(), nil); err != nil || len(all) != 1 || all[0].Status != sdk.StatusAvailable {
		t.Errorf("networks %+v, %v (N26)", all, err)
	}
}
