// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/reconciler/claim"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// The core sets up one for each claim kind, whatever number of providers serve it.
func Example() {
	databases := schema.GroupVersion{Group: "database.example.org", Version: "v1"}
	setup := func(mgr manager.Manager) error {
		return claim.NewReconciler(mgr, resource.ClaimKind(databases.WithKind("SQLInstance"))).SetupWithManager(mgr)
	}
	_ = setup
}
