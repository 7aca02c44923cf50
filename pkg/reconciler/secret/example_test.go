// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package secret_test

import (
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/reconciler/secret"
)

// A process that serves claims sets up one controller for their Secrets.
func Example() {
	setup := func(mgr manager.Manager) error {
		return secret.NewReconciler(mgr).SetupWithManager(mgr)
	}
	_ = setup
}
