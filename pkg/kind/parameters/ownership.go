// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import "slices"

// isOwnership is true for the keys of the labels that the control plane itself puts on external resources, also in the
// spelling of vendors that allow no dashes (P10, P13, N23).
func isOwnership(key string) bool {
	switch plain(key) {
	case "crossplanekind", "crossplanename", "crossplaneprovider", "bowlineuid":
		return true
	}
	return false
}

// isOwnershipTag is true for such a label where the vendor has lists of objects instead of maps, with the key in one field
// and the value in another, whatever their names.
func isOwnershipTag(element any) bool {
	for _, field := range object(element) {
		if key, ok := field.(string); ok && isOwnership(key) {
			return true
		}
	}
	return false
}

func withoutOwnership(list []any) []any {
	if !slices.ContainsFunc(list, isOwnershipTag) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), isOwnershipTag)
}
