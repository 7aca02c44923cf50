// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"testing"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/external"
)

// Differences show of a secret that it is there, or becomes another one, and not what it is.
func TestShownValues(t *testing.T) {
	t.Parallel()
	const later, hidden = "(known after the change)", "(sensitive)"
	for name, tc := range map[string]struct {
		value         cty.Value
		shown, secret string
	}{
		"known":   {cty.StringVal("geheim"), `"geheim"`, hidden},
		"unknown": {cty.UnknownVal(cty.String), later, later},
		"null":    {cty.NullVal(cty.String), "", ""},
		"in part": {cty.ListVal([]cty.Value{cty.StringVal("geheim"), cty.UnknownVal(cty.String)}), later, later},
	} {
		if shown, secret := external.Shown(tc.value, false), external.Shown(tc.value, true); shown != tc.shown || secret != tc.secret {
			t.Errorf("%s is shown as %q, and as %q where it is secret", name, shown, secret)
		}
	}
}
