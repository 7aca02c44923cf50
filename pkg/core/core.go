// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package core provides the portable claim and target kinds, and their controllers: one that reports why a claim is not bound, one
// that connects targets, one that propagates connection Secrets, and two that run applications in the clusters of targets.
//
// The core is a provider without managed kinds. Run it once in an installation, in a manager with the providers that have
// classes:
//
//	mgr, err := provider.NewManager(config, core.Provider(), fcp.Provider(), sql.Provider())
package core

import (
	"github.com/bowline-dev/bowline/apis"
	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	computev1alpha1 "github.com/bowline-dev/bowline/apis/compute/v1alpha1"
	"github.com/bowline-dev/bowline/apis/crds"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	storagev1alpha1 "github.com/bowline-dev/bowline/apis/storage/v1alpha1"
	workloadv1alpha1 "github.com/bowline-dev/bowline/apis/workload/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource"
)

// Provider returns the core as a provider.
func Provider() provider.Provider {
	return provider.Provider{
		Name:        "core",
		CRDs:        crds.FS,
		AddToScheme: apis.AddToScheme,
		Claims: []resource.Claim{
			&databasev1alpha1.PostgreSQLInstance{},
			&databasev1alpha1.MySQLInstance{},
			&databasev1alpha1.FancySQLInstance{},
			&cachev1alpha1.RedisCluster{},
			&storagev1alpha1.Bucket{},
			&computev1alpha1.KubernetesCluster{},
		},
		Targets:           []resource.Target{&workloadv1alpha1.KubernetesTarget{}},
		PropagatesSecrets: true,
		RunsWorkloads:     true,
	}
}
