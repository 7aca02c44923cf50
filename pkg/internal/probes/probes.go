// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probes tells Kubernetes whether a process is alive, and ready.
package probes

import (
	"errors"
	"fmt"
	"net/http"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// Add adds the probes: alive when the process serves, ready when the caches are synced.
func Add(mgr ctrl.Manager) error {
	if err := mgr.AddHealthzCheck("alive", healthz.Ping); err != nil {
		return fmt.Errorf("adding health check: %w", err)
	}
	err := mgr.AddReadyzCheck("caches", func(request *http.Request) error {
		if !mgr.GetCache().WaitForCacheSync(request.Context()) {
			return errors.New("caches are not synced yet")
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("adding readiness check: %w", err)
	}
	return nil
}
