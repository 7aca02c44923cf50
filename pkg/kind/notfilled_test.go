// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/bowline-dev/bowline/pkg/kind/internal/mapping"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

func TestNotFilled(t *testing.T) {
	t.Parallel()
	type network struct {
		Tags map[string]string `json:"tags,omitempty"`
	}
	type placement struct {
		Zone, Rack *string
	}
	type settings struct {
		Settings  map[string]string `json:"settings,omitempty"`
		Network   *network          `json:"network,omitempty"`
		Placement placement         `json:"placement,omitzero"`
		Version   *string           `json:"version,omitempty"`
		Open      map[string]string `json:"open,omitempty"`
	}
	k := &compiled[any, settings, struct{}, struct{}]{
		rules:      parameters.Rules{Immutable: []string{"placement", "version"}, Extra: []string{"open"}},
		parameters: mapping.NamedFields(reflect.TypeFor[settings]()),
	}
	cases := map[string]struct {
		set  settings
		want []string
	}{
		"nothing is set (R155)": {set: settings{Settings: map[string]string{}, Network: &network{}}},
		"maps that the user set (R149)": {
			set:  settings{Settings: map[string]string{"a": "b"}, Network: &network{Tags: map[string]string{"a": "b"}}},
			want: []string{"settings", "network.tags"},
		},
		"maps to which others add (R151)": {
			set: settings{Open: map[string]string{"a": "b"}},
		},
		"immutable fields (N33)": {
			set:  settings{Placement: placement{Zone: ptr.To("z")}, Version: ptr.To("1")},
			want: []string{"placement", "version"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, k.notFilled(&tc.set)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
