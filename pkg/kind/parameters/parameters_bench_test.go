// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters_test

import (
	"fmt"
	"testing"

	"github.com/bowline-dev/bowline/pkg/kind/parameters"
)

func BenchmarkDifferences(b *testing.B) {
	desired, observed := thirtyFields(), thirtyFields()
	observed["field07"] = "another"
	options := []parameters.Option{parameters.AsSet("zones"), parameters.Ignore("field01"), parameters.Sensitive("field02")}
	for name, other := range map[string]map[string]any{"Equal": desired, "OneDifference": observed} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				parameters.Differences(desired, other, options...)
			}
		})
	}
}

func thirtyFields() map[string]any {
	tree := map[string]any{
		"zones":         []any{"a", "b", "c"},
		"tags":          map[string]any{"team": "a", "cost": "7", "example.org/env": "prod"},
		"scalingConfig": []any{map[string]any{"desiredSize": int64(1), "maxSize": int64(4), "minSize": int64(1)}},
	}
	for i := range 21 {
		tree[fmt.Sprintf("field%02d", i)] = fmt.Sprintf("value %d", i)
	}
	return tree
}
