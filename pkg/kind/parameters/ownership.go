// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import "slices"

// isOwnership is true for the keys of ownership labels, also in the spelling of vendors that allow no dashes (P10, P13, N23).
func isOwnership(key string) bool {
	switch plain(key) {
	case "crossplanekind", "crossplanename", "crossplaneprovider", "bowlineuid":
		return true
	}
	return false
}

// isOwnershipTag is true for an ownership label of a vendor with lists of key-value objects instead of maps.
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
