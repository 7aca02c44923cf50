// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

func TestSecretReferences(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		tree string
		want map[string]xpv1.SecretKeySelector
	}{
		"at any depth (P60)": {
			tree: `{"passwordSecretRef": {"name": "a", "namespace": "n", "key": "k"},
				"users": [{"x": 1}, {"tls": {"certSecretRef": {"name": "b", "key": "k"}}}]}`,
			want: map[string]xpv1.SecretKeySelector{
				"passwordSecretRef":          {Name: "a", Namespace: "n", Key: "k"},
				"users[1].tls.certSecretRef": {Name: "b", Key: "k"},
			},
		},
		"other names and shapes (P60)": {
			tree: `{"secret": {"name": "a", "key": "k"}, "aSecretRef": {"name": "a"}, "bSecretRef": "b",
				"cSecretRef": {"name": "a", "key": "k", "extra": 1}, "dRef": {"name": "a", "key": "k"}}`,
			want: map[string]xpv1.SecretKeySelector{},
		},
		"none (P60)": {want: map[string]xpv1.SecretKeySelector{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, parameters.SecretReferences(tree(t, tc.tree))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
