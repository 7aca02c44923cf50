// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"testing"

	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/database"
	"github.com/bowline-dev/bowline/favouritecloud/sdk/services/network"
	"github.com/bowline-dev/bowline/pkg/meta"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// initialNetwork leaves its MTU to the cloud, which was told one at the creation.
func initialNetwork(t *testing.T, w *world) {
	n := w.network("initial")
	n.Spec.InitProvider.MTU = new(9000)
	w.Create(t, n)
	w.Settled(t, n)
	if have := w.networkOf(t, n); have.MTU != 9000 || n.Spec.ForProvider.MTU != nil {
		t.Errorf("MTU %d, declared %v (R138, R146)", have.MTU, n.Spec.ForProvider.MTU)
	}
	id := meta.GetExternalName(n)
	if _, err := w.networks.Update(t.Context(), id, network.UpdateNetworkInput{MTU: new(1400)}); err != nil {
		t.Fatal(err)
	}
	w.Change(t, n, func() { n.Spec.ForProvider.Description = new("changed") })
	if have := w.networkOf(t, n); have.MTU != 1400 || have.Description != "changed" {
		t.Errorf("after an update of another field: %+v (R143, R144)", have)
	}
}

// initialDatabase has all that its creation needs in initProvider, its name included.
func initialDatabase(t *testing.T, w *world) {
	db := w.database("initial")
	db.Spec.ForProvider.FancinessLevel = 0
	db.Spec.InitProvider = databasev1alpha3.FavouriteDBInstanceInitParameters{Name: "by-init", FancinessLevel: 15}
	w.Create(t, db)
	w.Settled(t, db)
	if got := meta.GetExternalName(db); got != "by-init" {
		t.Errorf("external name %q (D19)", got)
	}
	have, err := database.NewClient(w.cloud).Get(t.Context(), "by-init")
	if err != nil || have.FancinessLevel != 15 || db.Spec.ForProvider.FancinessLevel != 0 {
		t.Errorf("%+v, %v, declared %d (R138, R146)", have, err, db.Spec.ForProvider.FancinessLevel)
	}
}
