// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import (
	"testing"

	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/pkg/resource/unstructured"
)

// A type may be whatever satisfies resource.Managed.
func TestWrongType(t *testing.T) {
	t.Parallel()
	type special interface {
		resource.Managed
		Special()
	}
	_, ofInterface := callWith[special, any](t.Context(), &unstructured.Managed{}, nil)
	_, ofPointer := callWith[*statusOnly, any](t.Context(), &unstructured.Managed{}, nil)
	for name, tc := range map[string]struct {
		err  error
		want string
	}{
		"an interface (R29)": {ofInterface, "managed resource is not a special"},
		"a pointer (R29)":    {ofPointer, "managed resource is not a statusOnly"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.err == nil || tc.err.Error() != tc.want {
				t.Errorf("got %v, want %s", tc.err, tc.want)
			}
		})
	}
}
