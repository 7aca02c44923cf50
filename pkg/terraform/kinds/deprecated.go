// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"strings"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// deepestDeprecation is how many names a deprecated field's path has at most: the admission policy that warns looks no deeper.
const deepestDeprecation = 6

// A Deprecation is a field that objects should not set any more.
type Deprecation struct {
	// Path below forProvider and initProvider: names with dots between them, and * for any key of a map. Those of lists have no index.
	Path string
	// Message of the provider, on one line: empty if it has none.
	Message string
}

// Deprecations returns the deprecated fields that a configuration may set, in the order of their paths. Fields below deprecated ones are
// left out.
func Deprecations(s *schema.Schema) []Deprecation { return shapeOfBlock(s.Block).deprecations(nil) }

func (s shape) deprecations(path []string) (all []Deprecation) {
	switch {
	case len(path) >= deepestDeprecation:
	case s.form == mapping:
		return s.item.deprecations(append(path, "*"))
	case s.form == list || s.form == set:
		return s.item.deprecations(path)
	case s.form == object:
		for _, f := range s.fields() {
			at := append(path[:len(path):len(path)], f.name)
			switch {
			case !f.input:
			case f.deprecated:
				all = append(all, Deprecation{Path: strings.Join(at, "."), Message: shorten(f.instead)})
			default:
				all = append(all, f.shape.deprecations(at)...)
			}
		}
	}
	return all
}
