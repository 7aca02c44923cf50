// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
)

func TestNames(t *testing.T) {
	t.Parallel()
	long := "google_" + strings.Repeat("very_", 14) + "long"
	for name, tc := range map[string]struct {
		provider, resourceType string
		want                   string // kind, plural, singular
	}{
		"one word":                           {"postgresql", "postgresql_database", "Database databases database"},
		"two words":                          {"postgresql", "postgresql_access_level", "AccessLevel access-levels access-level"},
		"the plural of another":              {"google", "google_access_levels", "AccessLevels access-levelss access-levelss"},
		"the same letters":                   {"google", "google_accesslevel", "Accesslevel accesslevels accesslevel"},
		"plural of y":                        {"google", "google_iam_policy", "IamPolicy iam-policies iam-policy"},
		"plural of a vowel and y":            {"google", "google_kms_key", "KmsKey kms-keys kms-key"},
		"plural of ss":                       {"google", "google_compute_address", "ComputeAddress compute-addresses compute-addresses"},
		"plural of x":                        {"google", "google_index", "Index indexes index"},
		"plural of ch":                       {"aws", "aws_batch", "Batch batches batch"},
		"plural of namespace":                {"kubernetes", "kubernetes_namespace", "Namespace namespaceses namespace"},
		"the plural of namespaces":           {"kubernetes", "kubernetes_namespacese", "NamespaceseH"},
		"plural of che":                      {"aws", "aws_cache", "Cache caches cache"},
		"digits in words":                    {"aws", "aws_s3_bucket", "S3Bucket s3-buckets s3-bucket"},
		"provider with a hyphen":             {"google-beta", "google_compute_disk", "ComputeDisk compute-disks compute-disk"},
		"without the provider's name":        {"equinix", "metal_device", "MetalDeviceH2bcfa5b7 metal-device-h2bcfa5b7s metal-device-h2bcfa5b7"},
		"the provider's name alone":          {"http", "http", "HttpH"},
		"the list kind of another":           {"aws", "aws_prefix_list", "PrefixListH"},
		"list":                               {"cloudflare", "cloudflare_list", "ListH"},
		"a plural that another has":          {"aws", "aws_cookie", "CookieH"},
		"our ProviderConfig":                 {"foo", "foo_provider_config", "ProviderConfigH"},
		"our providerconfigs":                {"foo", "foo_providerconfig", "ProviderconfigH"},
		"our ClusterProviderConfig":          {"foo", "foo_cluster_provider_config", "ClusterProviderConfigH"},
		"a digit that loses its underscore":  {"foo", "foo_a_1", "A1H"},
		"a digit first":                      {"foo", "foo_3scale", "X3scaleH"},
		"upper case":                         {"foo", "foo_accessLevel", "AccesslevelH"},
		"an underscore at the end":           {"foo", "foo_bar_", "BarH"},
		"two underscores":                    {"foo", "foo_bar__baz", "BarBazH"},
		"too long for a kind or its list":    {"google", long, "VeryVeryVeryVeryVeryVeryVeryVeryVeryVerH"},
		"nothing but the provider's name":    {"foo", "foo_", "XH"},
		"letters that no kind may have, too": {"foo", "foo_ü", "XH"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := kinds.Names(tc.provider, tc.resourceType)
			got := strings.Join([]string{n.Kind, n.Plural, n.Singular}, " ")
			if stem, ok := strings.CutSuffix(tc.want, "H"); ok {
				if !strings.HasPrefix(got, tc.want) || len(n.Kind) != len(stem)+len("Hffffffff") {
					t.Errorf("names are %q, want %q and a hash", got, stem)
				}
				return
			}
			if got != tc.want {
				t.Errorf("names are %q, want %q", got, tc.want)
			}
		})
	}
}

func TestGroup(t *testing.T) {
	t.Parallel()
	got := []string{
		kinds.GroupVersionKind("postgresql", "postgresql_role", apiextensionsv1.ClusterScoped).String(),
		kinds.GroupVersionKind("postgresql", "postgresql_role", apiextensionsv1.NamespaceScoped).String(),
	}
	want := []string{"postgresql.tf.bowline.dev/v1alpha1, Kind=Role", "postgresql.tf.m.bowline.dev/v1alpha1, Kind=Role"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// typeNames returns names as large public providers have them, and those that are most alike.
func typeNames() []string {
	var all []string
	nouns := []string{"access_level", "policy", "instance", "iam_member", "iam_binding", "address", "bucket", "cache", "batch", "database", "index", "key",
		"prefix", "status", "license", "cookie", "mesh", "meshe", "ss", "sse", "ax", "axe", "batche", "list", "group", "accesslevel", "a_1", "a1", "A1", "a__1", "v2", "x_provider_config",
		"provider_config", "providerconfig", "configuration_with_a_name_that_is_longer_than_kinds_are", "configuration_with_a_name_that_is_longer_than_kinds_could",
		strings.Repeat("k", 61)}
	for _, service := range []string{"", "compute_", "sql_", "app_engine_", "vpc_access_", "data_loss_prevention_", "identity_platform_", "os_config_"} {
		for _, noun := range nouns {
			for _, ending := range []string{"", "s", "es", "ies", "_list", "list", "_lists"} {
				all = append(all, "google_"+service+noun+ending)
			}
			all = append(all, service+noun, "Google_"+service+noun, strings.ToUpper("google_"+service+noun), "google_"+service+strings.ReplaceAll(noun, "_", ""))
		}
	}
	return all
}

func TestNoTypesCollide(t *testing.T) {
	t.Parallel()
	resources := map[string]string{"providerconfigs": "ours", "providerconfig": "ours", "clusterproviderconfigs": "ours", "clusterproviderconfig": "ours"}
	taken := map[string]string{"ProviderConfig": "ours", "ProviderConfigList": "ours", "ClusterProviderConfig": "ours", "ClusterProviderConfigList": "ours"}
	types := map[string]bool{}
	claim := func(in map[string]string, name, resourceType string) {
		if other, ok := in[name]; ok && other != resourceType {
			t.Errorf("%s and %s both have %s", other, resourceType, name)
		}
		in[name] = resourceType
		if len(validation.IsDNS1035Label(strings.ToLower(name))) > 0 {
			t.Errorf("the API server would refuse %s of %s", name, resourceType)
		}
	}
	for _, resourceType := range typeNames() {
		types[resourceType] = true
		n := kinds.Names("google", resourceType)
		claim(resources, n.Plural, resourceType)
		claim(resources, n.Singular, resourceType)
		claim(taken, n.Kind, resourceType)
		claim(taken, n.ListKind, resourceType)
	}
	if len(types) < 1300 {
		t.Errorf("only %d types", len(types))
	}
}
