// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package claimscheduling_test

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/reconciler/claimscheduling"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// A provider sets up one scheduler for each pair of a claim kind and a class kind.
func Example() {
	databases := schema.GroupVersion{Group: "database.example.org", Version: "v1"}
	cloud := schema.GroupVersion{Group: "cloud.example.org", Version: "v1"}
	setup := func(mgr manager.Manager) error {
		return claimscheduling.NewReconciler(mgr,
			resource.ClaimKind(databases.WithKind("SQLInstance")),
			resource.ClassKind(cloud.WithKind("DatabaseClass")),
		).SetupWithManager(mgr)
	}
	_ = setup
}
