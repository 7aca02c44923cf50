// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimdefaulting_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/reconciler/claimdefaulting"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// What it does is tested in package classes, on an API server.
func TestControllerName(t *testing.T) {
	t.Parallel()
	t.Run("as the documents name it (R11, N21)", func(t *testing.T) {
		t.Parallel()
		const want = "defaulter.fancysqlinstance.favouritedbinstance.fcp.crossplane.io"
		got := claimdefaulting.ControllerName(
			resource.ClaimKind(schema.GroupVersionKind{Group: "database.crossplane.io", Version: "v1alpha1", Kind: "FancySQLInstance"}),
			resource.ClassKind(schema.GroupVersionKind{Group: "fcp.crossplane.io", Version: "v1alpha3", Kind: "FavouriteDBInstanceClass"}))
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}
