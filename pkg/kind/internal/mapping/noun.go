// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"reflect"
	"strings"
	"unicode"
)

// Noun returns what to call external resources: "favourite db instance" for FavouriteDBInstanceParameters. The vendor's type may be that of
// an answer.
func Noun(parameters reflect.Type) string {
	name := strings.TrimSuffix(parameters.Name(), "Parameters")
	var text strings.Builder
	for i, r := range name {
		endsAcronym := i+1 < len(name) && unicode.IsLower(rune(name[i+1]))
		if i > 0 && unicode.IsUpper(r) && (unicode.IsLower(rune(name[i-1])) || endsAcronym) {
			text.WriteByte(' ')
		}
		text.WriteRune(unicode.ToLower(r))
	}
	return text.String()
}
