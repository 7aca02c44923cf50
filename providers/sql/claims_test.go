// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package sql_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	databasev1alpha1 "github.com/bowline-dev/bowline/apis/database/v1alpha1"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/sql"
	"github.com/bowline-dev/bowline/providers/sql/apis/postgresql/v1alpha1"
)

// The results of settings of the claim and of the class.
func TestClaimsOfTenants(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		claim   resource.Claim
		classed *string // version
		shared  bool    // one password for all
		mg      resource.BindableManaged
		want    *string
		refused string
	}{
		"the claim's version (R283)":     {claim: asking(ptr.To("15")), want: ptr.To("15")},
		"the class's version (R258)":     {claim: asking(nil), classed: ptr.To("14"), want: ptr.To("14")},
		"neither sets one (R258)":        {claim: asking(nil)},
		"the class stands for 14 (D27)":  {claim: asking(ptr.To("15")), classed: ptr.To("14"), refused: "spec.engineVersion is 15, but the class"},
		"one password for all (R274)":    {claim: asking(nil), shared: true, refused: "forProvider.passwordSecretRef, which no two"},
		"a claim of another kind (R260)": {claim: &databasev1alpha1.MySQLInstance{}, refused: "is not a PostgreSQLInstance"},
		"what else would be made (R260)": {claim: asking(nil), mg: &v1alpha1.Database{}, refused: "is not a TenantDatabase"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			class := &v1alpha1.TenantDatabaseClass{}
			class.SpecTemplate.ForProvider = v1alpha1.TenantDatabaseParameters{EngineVersion: tc.classed, ConnectionLimit: ptr.To(7)}
			if tc.shared {
				class.SpecTemplate.ForProvider.PasswordSecretRef = &xpv1.SecretKeySelector{Namespace: "platform", Name: "all", Key: "password"}
			}
			before, made := class.DeepCopy(), &v1alpha1.TenantDatabase{}
			if tc.mg == nil {
				tc.mg = made
			}
			err := sql.Provider().Classes[0].Configurators[0].Configure(t.Context(), tc.claim, class, tc.mg)
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("%v, want %q", err, tc.refused)
				}
				return
			}
			want := v1alpha1.TenantDatabaseParameters{EngineVersion: tc.want, ConnectionLimit: ptr.To(7)}
			if diff := cmp.Diff(want, made.Spec.ForProvider); err != nil || diff != "" {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
			if diff := cmp.Diff(before, class); diff != "" {
				t.Errorf("the class was changed:\n%s", diff)
			}
		})
	}
}

func asking(version *string) *databasev1alpha1.PostgreSQLInstance {
	return &databasev1alpha1.PostgreSQLInstance{Spec: databasev1alpha1.PostgreSQLInstanceSpec{EngineVersion: version}}
}
