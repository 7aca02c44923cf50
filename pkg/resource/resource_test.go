// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"errors"
	"testing"

	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestIgnore(t *testing.T) {
	absent, boom := errors.New("absent"), errors.New("boom")
	isAbsent := func(err error) bool { return errors.Is(err, absent) }
	for name, tc := range map[string]struct{ err, want error }{
		"R321 nil":          {},
		"R321 of the kind":  {err: absent},
		"R321 another kind": {err: boom, want: boom},
	} {
		if got := resource.Ignore(isAbsent, tc.err); !errors.Is(got, tc.want) || (got == nil) != (tc.want == nil) {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}
