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
	absent, late, boom := errors.New("absent"), errors.New("late"), errors.New("boom")
	is := func(target error) resource.ErrorIs { return func(err error) bool { return errors.Is(err, target) } }
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "buckets"}, "orders")
	for name, tc := range map[string]struct{ got, want error }{
		"A44 R321 nil":                         {got: resource.Ignore(is(absent), nil)},
		"A44 R321 of the kind":                 {got: resource.Ignore(is(absent), fmt.Errorf("looking: %w", absent))},
		"A44 R321 another kind":                {got: resource.Ignore(is(absent), boom), want: boom},
		"A44 R321 a function of somebody else": {got: resource.Ignore(apierrors.IsNotFound, missing)},
		"any: nil":                             {got: resource.IgnoreAny(nil, is(absent))},
		"any: the second kind":                 {got: resource.IgnoreAny(late, is(absent), is(late))},
		"any: none of the kinds":               {got: resource.IgnoreAny(boom, is(absent), is(late)), want: boom},
		"any: no kinds":                        {got: resource.IgnoreAny(boom), want: boom},
		"not found":                            {got: resource.IgnoreNotFound(fmt.Errorf("reading: %w", missing))},
		"not found: something else":            {got: resource.IgnoreNotFound(boom), want: boom},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("got %v, want %v", tc.got, tc.want)
			}
		})
	}
	if !resource.IsAPIError(fmt.Errorf("reading: %w", missing)) || resource.IsAPIError(boom) || resource.IsAPIError(nil) {
		t.Error("IsAPIError must be true for what the API server answered with, and for nothing else")
	}
}
