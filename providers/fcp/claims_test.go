// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package fcp_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// configured makes what a claim gets from a class, by the provider's own configurators.
func configured(t *testing.T, claim resource.Claim, class resource.Class, mg resource.BindableManaged) error {
	t.Helper()
	for _, c := range fcp.Provider().Classes {
		if reflect.TypeOf(c.Claim) == reflect.TypeOf(claim) && reflect.TypeOf(c.Object) == reflect.TypeOf(class) {
			for _, configurator := range c.Configurators {
				if err := configurator.Configure(t.Context(), claim, class, mg); err != nil {
					return err
				}
			}
			return nil
		}
	}
	t.Fatalf("no class turns a %T into a %T", claim, mg)
	return nil
}

// What becomes of what the claim says and what the class says.
func TestClaimsOfDatabases(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		claimed, classed *string // versions
		name             string  // in the class
		password         bool    // in the class
		want             *string
		refused          string
	}{
		"the claim's version (R283)": {claimed: ptr.To("15"), want: ptr.To("15")},
		"the class's version (R258)": {classed: ptr.To("14"), want: ptr.To("14")},
		"both say the same (R283)":   {claimed: ptr.To("14"), classed: ptr.To("14"), want: ptr.To("14")},
		"nobody says one (R258)":     {},
		"the class stands for another (D27)": {
			claimed: ptr.To("15"), classed: ptr.To("14"), refused: "is 15, but the class has 14",
		},
		"a class that gives all claims one and the same (R274)": {name: "one-for-all", refused: "forProvider.name, which no two"},
		"a class that gives all claims one password (R274)":     {password: true, refused: "forProvider.passwordSecretRef, which no two"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class := &databasev1alpha3.FavouriteDBInstanceClass{}
			class.SpecTemplate.ForProvider = databasev1alpha3.FavouriteDBInstanceParameters{
				FancinessLevel: 40, Version: tc.classed, Name: tc.name,
			}
			if tc.password {
				class.SpecTemplate.ForProvider.PasswordSecretRef = &xpv1.SecretKeySelector{Namespace: "platform", Name: "all", Key: "password"}
			}
			before := class.DeepCopy()
			for field, claim := range map[string]resource.Claim{
				"spec.engineVersion": &databasev1alpha1.PostgreSQLInstance{Spec: databasev1alpha1.PostgreSQLInstanceSpec{EngineVersion: tc.claimed}},
				"spec.version":       &databasev1alpha1.FancySQLInstance{Spec: databasev1alpha1.FancySQLInstanceSpec{Version: tc.claimed}},
			} {
				mg := &databasev1alpha3.FavouriteDBInstance{}
				err := configured(t, claim, class, mg)
				if tc.refused != "" {
					if err == nil || !strings.Contains(err.Error(), tc.refused) || tc.claimed != nil && !strings.Contains(err.Error(), field) {
						t.Errorf("%s: %v, want %q", field, err, tc.refused)
					}
					continue
				}
				want := databasev1alpha3.FavouriteDBInstanceParameters{FancinessLevel: 40, Version: tc.want}
				if diff := cmp.Diff(want, mg.Spec.ForProvider); err != nil || diff != "" {
					t.Errorf("%s: %v, -want +got:\n%s", field, err, diff)
				}
			}
			if diff := cmp.Diff(before, class); diff != "" {
				t.Errorf("the class was changed:\n%s", diff)
			}
		})
	}
}

// Every configurator of every class refuses what is of another kind than its own.
func TestClaimsOfOtherKinds(t *testing.T) {
	t.Parallel()
	for _, c := range fcp.Provider().Classes {
		var class resource.Class = &cachev1alpha3.CacheInstanceClass{}
		var mg resource.BindableManaged = &cachev1alpha3.CacheInstance{}
		if _, same := c.Managed.(*cachev1alpha3.CacheInstance); same {
			class, mg = &databasev1alpha3.FavouriteDBInstanceClass{}, &databasev1alpha3.FavouriteDBInstance{}
		}
		for name, wrong := range map[string]provider.Class{
			"claim (R260)":            {Claim: &databasev1alpha1.MySQLInstance{}, Object: c.Object, Managed: c.Managed},
			"class (R260)":            {Claim: c.Claim, Object: class, Managed: c.Managed},
			"managed resource (R260)": {Claim: c.Claim, Object: c.Object, Managed: mg},
		} {
			t.Run(fmt.Sprintf("%s for %T", name, c.Claim), func(t *testing.T) {
				t.Parallel()
				for _, configurator := range c.Configurators {
					if err := configurator.Configure(t.Context(), wrong.Claim, wrong.Object, wrong.Managed); err == nil {
						t.Error("it is accepted")
					}
				}
			})
		}
	}
}
