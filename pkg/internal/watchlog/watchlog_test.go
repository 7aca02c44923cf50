// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package watchlog

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A watch that fails is logged once, however often and for however many kinds the API server cannot be reached.
func TestErrors(t *testing.T) {
	t.Parallel()
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "things"}, "")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, "", errors.New("not yours"))
	cases := map[string]struct {
		errs []error
		want int
	}{
		"Missing":     {[]error{missing}, 2},
		"Unreachable": {[]error{errors.New("connection refused"), io.ErrUnexpectedEOF}, 1},
		"Forbidden":   {[]error{forbidden}, 2},
		"Both":        {[]error{missing, forbidden}, 4},
		"Closed":      {[]error{io.EOF, context.Canceled, apierrors.NewResourceExpired("old")}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var lines []string
			w := &Errors{Log: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})}
			for range 3 {
				for _, err := range tc.errs {
					w.report("*v1.Thing", err)
					w.report("*v1.Other", err)
				}
			}
			slices.Sort(lines)
			if diff := cmp.Diff(tc.want, len(lines)); diff != "" {
				t.Errorf("-want +got lines of the log:\n%s\n%q", diff, lines)
			}
		})
	}
}
