// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package resource_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/bowline-dev/bowline/pkg/resource"
)

func TestIgnore(t *testing.T) {
	t.Parallel()
	absent, boom := errors.New("absent"), errors.New("boom")
	is := func(target error) resource.ErrorIs { return func(err error) bool { return errors.Is(err, target) } }
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "buckets"}, "orders")
	for name, tc := range map[string]struct{ got, want error }{
		"nil (A44, R321)":                         {got: resource.Ignore(is(absent), nil)},
		"of the kind (A44, R321)":                 {got: resource.Ignore(is(absent), fmt.Errorf("looking: %w", absent))},
		"another kind (A44, R321)":                {got: resource.Ignore(is(absent), boom), want: boom},
		"a function of somebody else (A44, R321)": {got: resource.Ignore(apierrors.IsNotFound, missing)},
		"not found":                               {got: resource.IgnoreNotFound(fmt.Errorf("reading: %w", missing))},
		"not found: something else":               {got: resource.IgnoreNotFound(boom), want: boom},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got %v, want %v", tc.got, tc.want)
			}
		})
	}
}
