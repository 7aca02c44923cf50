// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package reference

// FromPtrValue returns the value of an optional field, empty if it is unset.
func FromPtrValue(v *string) string {
	if v == nil {
		return ""
	}
	return *v
}

// ToPtrValue returns the value for an optional field, nil if it is empty.
func ToPtrValue(v string) *string {
	if v == "" {
		return nil
	}
	return &v
}

// FromPtrValues returns the values of a list, empty where one is nil.
func FromPtrValues(v []*string) []string { return each(v, FromPtrValue) }

// ToPtrValues returns the values for a list, nil where one is empty.
func ToPtrValues(v []string) []*string { return each(v, ToPtrValue) }

// each keeps nil nil, so that an unset list stays unset.
func each[A, B any](all []A, convert func(A) B) []B {
	if all == nil {
		return nil
	}
	converted := make([]B, len(all))
	for i := range all {
		converted[i] = convert(all[i])
	}
	return converted
}
