// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
	"github.com/bowline-dev/bowline/providers/fcp"
)

// A program of your own that runs the provider's controllers; fcp.CRDs returns what has to be installed before.
func Example() {
	run := func() error {
		scheme := runtime.NewScheme()
		if err := clientgoscheme.AddToScheme(scheme); err != nil {
			return err
		}
		if err := fcp.AddToScheme(scheme); err != nil {
			return err
		}
		mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Scheme: scheme, Cache: managed.CacheOptions()})
		if err != nil {
			return err
		}
		if err := fcp.SetupWithManager(mgr); err != nil {
			return err
		}
		return mgr.Start(ctrl.SetupSignalHandler())
	}
	_ = run
}
