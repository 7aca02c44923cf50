// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package providertest_test

import (
	"context"
	"testing"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/provider"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providertest"
)

// A provider's test of a kind whose size may drift.
func ExampleWorld_TestDrift() {
	_ = func(t *testing.T, p provider.Provider, bucket resource.Managed, size *int) {
		w := providertest.New(t, p)
		w.Start(t)
		w.TestDrift(t, func(context.Context) (any, error) { return *size, nil }, map[string]providertest.Drift{"Bucket": {
			Object:   bucket,
			Creates:  []string{"size"},
			Taken:    func() any { return bucket.GetAnnotations()["region"] },
			Change:   func(context.Context) error { *size = 2; return nil },
			Want:     []xpv1.FieldDifference{{Path: "size", Desired: "1", Observed: "2"}},
			State:    func(context.Context) (any, error) { return *size, nil },
			Declared: 1,
		}})
	}
}
