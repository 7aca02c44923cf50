// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	cachev1alpha1 "github.com/bowline-dev/bowline/apis/cache/v1alpha1"
	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	computev1alpha1 "github.com/bowline-dev/bowline/apis/compute/v1alpha1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/compute/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// A managed resource is configured by a claim and its class.
func TestClaims(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		claimed, classed, want *string // versions
		named, password        bool    // the class has them
		refused                string
	}{
		"version of the claim (R283)":                 {claimed: new("15"), want: new("15")},
		"version of the class (R258)":                 {classed: new("14"), want: new("14")},
		"same version of both (R283)":                 {claimed: new("14"), classed: new("14"), want: new("14")},
		"no version (R258)":                           {},
		"version that the class does not have (D27)":  {claimed: new("15"), classed: new("14"), refused: "ersion is 15, but the class has 14"},
		"one name of the class for all claims (R274)": {named: true, refused: "forProvider.name, which no two"},
		"one password of the class for claims (R274)": {password: true, refused: "forProvider.passwordSecretRef, which no two"},
	} {
		database := databasev1alpha3.FavouriteDBInstanceParameters{FancinessLevel: 40, Version: tc.classed}
		cache := cachev1alpha3.CacheInstanceParameters{MemoryMegabytes: new(8), EngineVersion: tc.classed}
		cluster := computev1alpha3.FavouriteClusterParameters{Version: tc.classed}
		if tc.named {
			database.Name, cache.Name, cluster.Name = "one-for-all", new("one-for-all"), new("one-for-all")
		}
		if tc.password {
			database.PasswordSecretRef = &xpv1.SecretKeySelector{Namespace: "platform", Name: "all", Key: "password"}
			cache.PasswordSecretRef = database.PasswordSecretRef
		}
		wantDatabase, wantCache, wantCluster := database, cache, cluster
		wantDatabase.Version, wantCache.EngineVersion, wantCluster.Version = tc.want, tc.want, tc.want
		for _, c := range fcp.Provider().Classes {
			claim, class, mg := c.Claim.DeepCopyObject(), c.Object.DeepCopyObject().(resource.Class), c.Managed.DeepCopyObject().(resource.BindableManaged)
			switch claim := claim.(type) {
			case *databasev1alpha1.FancySQLInstance:
				claim.Spec.Version = tc.claimed
			case *databasev1alpha1.PostgreSQLInstance:
				claim.Spec.EngineVersion = tc.claimed
			case *cachev1alpha1.RedisCluster:
				claim.Spec.EngineVersion = tc.claimed
			case *computev1alpha1.KubernetesCluster:
				claim.Spec.ClusterVersion = tc.claimed
			}
			if _, is := claim.(*computev1alpha1.KubernetesCluster); is && tc.password {
				continue // it has none
			}
			var got, want any
			switch class := class.(type) {
			case *databasev1alpha3.FavouriteDBInstanceClass:
				class.SpecTemplate.ForProvider = database
				got, want = &mg.(*databasev1alpha3.FavouriteDBInstance).Spec.ForProvider, &wantDatabase
			case *cachev1alpha3.CacheInstanceClass:
				class.SpecTemplate.ForProvider = cache
				got, want = &mg.(*cachev1alpha3.CacheInstance).Spec.ForProvider, &wantCache
			case *computev1alpha3.FavouriteClusterClass:
				class.SpecTemplate.ForProvider = cluster
				got, want = &mg.(*computev1alpha3.FavouriteCluster).Spec.ForProvider, &wantCluster
			}
			t.Run(fmt.Sprintf("%s of %T", name, claim), func(t *testing.T) {
				before := class.DeepCopyObject()
				err := c.Configurators[0].Configure(t.Context(), claim.(resource.Claim), class, mg)
				switch {
				case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)):
					t.Errorf("got error %v, want %q", err, tc.refused)
				case tc.refused == "" && (err != nil || !cmp.Equal(want, got)):
					t.Errorf("%v, -want +got:\n%s", err, cmp.Diff(want, got))
				}
				if diff := cmp.Diff(before, class); diff != "" {
					t.Errorf("the class was changed:\n%s", diff)
				}
			})
		}
	}
}
