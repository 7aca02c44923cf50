// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package labels reads and sets labels in values of Terraform providers, at a path as of kinds.LabelsPath.
package labels

import "github.com/zclconf/go-cty/cty"

// Get returns the label of a key at a path, empty for none and without a path.
func Get(value cty.Value, at cty.Path, key string) string {
	label := At(value, at)[key]
	if label == cty.NilVal || !label.IsKnown() || label.IsNull() {
		return ""
	}
	return label.AsString()
}

// At returns the labels at a path, nil for none and without a path.
func At(value cty.Value, at cty.Path) map[string]cty.Value {
	labels, err := at.Apply(value)
	if len(at) == 0 || err != nil || labels.IsNull() || !labels.IsKnown() {
		return nil
	}
	return labels.AsValueMap()
}

// With returns a value with another one at a path of attributes and elements of lists, and false if the path ends before.
func With(value cty.Value, at cty.Path, other cty.Value) (cty.Value, bool) {
	if len(at) == 0 {
		return other, true
	}
	if value.IsNull() || !value.IsKnown() {
		return value, false
	}
	switch step := at[0].(type) {
	case cty.GetAttrStep:
		parts := value.AsValueMap()
		part, ok := With(parts[step.Name], at[1:], other)
		parts[step.Name] = part
		return cty.ObjectVal(parts), ok
	case cty.IndexStep:
		if t := value.Type(); !t.IsListType() || value.HasIndex(step.Key).False() {
			return value, false
		}
		i, _ := step.Key.AsBigFloat().Int64()
		items := value.AsValueSlice()
		item, ok := With(items[i], at[1:], other)
		items[i] = item
		return cty.ListVal(items), ok
	}
	return value, false
}
