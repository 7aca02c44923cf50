// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providerconfig_test

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/bowline-dev/bowline/pkg/clients/credentials"
	"github.com/bowline-dev/bowline/pkg/reconciler/providerconfig"
)

// A provider sets up one reconciler for each kind of its configurations.
func Example() {
	cloud := schema.GroupVersion{Group: "cloud.example.org", Version: "v1"}
	setup := func(mgr manager.Manager, secrets *credentials.Secrets) error {
		return providerconfig.NewReconciler(mgr, cloud.WithKind("ProviderConfig"),
			providerconfig.WithUsers(cloud.WithKind("Bucket"), cloud.WithKind("Topic")),
			providerconfig.WithSecrets(secrets),
		).SetupWithManager(mgr)
	}
	_ = setup
}
