// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
)

// What Kubernetes takes for a name becomes one that the cloud takes.
func TestNamesForTheCloud(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 80)
	cases := map[string]struct{ object, want string }{
		"valid stays (D19)":              {"shop-orders-x1b2c", "shop-orders-x1b2c"},
		"one letter stays (D19)":         {"a", "a"},
		"the longest stays (D19)":        {long[:57] + "-x1b2c", long[:57] + "-x1b2c"},
		"a digit first (D19)":            {"1shop-orders-x1b2c", "x1shop-orders-x1b2c"},
		"digits only (D19)":              {"42", "x42"},
		"dots (D19)":                     {"shop-orders.eu.prod-x1b2c", "shop-orders-eu-prod-x1b2c"},
		"both (D19)":                     {"1.a", "x1-a"},
		"no room for the letter (D19)":   {"1" + long[:56] + "-x1b2c", "x1" + long[:55] + "-x1b2c"},
		"longer than the cloud's (D19)":  {long + "-x1b2c", long[:57] + "-x1b2c"},
		"the longest in the world (D19)": {strings.Repeat("1.", 126) + "z", "x" + strings.Repeat("1-", 28) + "-1-1-z"},
	}
	valid := regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, cache := &v1alpha3.FavouriteDBInstance{}, &cachev1alpha3.CacheInstance{}
			server.ObjectMeta, cache.ObjectMeta = metav1.ObjectMeta{Name: tc.object}, metav1.ObjectMeta{Name: tc.object}
			for kind, got := range map[string]string{
				"database": favouriteDBInstances().Name(server, &server.Spec.ForProvider),
				"cache":    cacheInstances().Name(cache, &cache.Spec.ForProvider),
			} {
				if got != tc.want || !valid.MatchString(got) {
					t.Errorf("%s: got %q, want %q", kind, got, tc.want)
				}
			}
		})
	}
}
