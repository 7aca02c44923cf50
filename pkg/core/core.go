// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package core is what claims and targets need besides the providers that satisfy them: their portable kinds, the controllers
// that say of a claim why it gets nothing, the one that lets targets connect, and the one that carries changes of connection
// Secrets on.
//
// Its one idea: the core is a provider like others, of no managed kinds. Programs run it beside those that have classes, once
// in an installation:
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

// Provider returns the core.
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
	}
}
