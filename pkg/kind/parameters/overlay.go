// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import "errors"

// Overlay returns the union of two trees (R141). A field that both set has the value of over (R142), be that false, 0 or an
// empty string. Objects are merged by field and lists of objects by element; further elements are taken from the longer
// list. Any other list is one value, and so are references, selectors and Secret references.
func Overlay(over, under map[string]any) map[string]any {
	if over == nil {
		return clone(under)
	}
	union := clone(over)
	for name, field := range under {
		if !isReferenceField(name, over[name]) {
			union[name] = overlay(over[name], field)
		}
	}
	return union
}

func overlay(over, under any) any {
	switch o := over.(type) {
	case nil:
		return cloneValue(under)
	case map[string]any:
		return Overlay(o, object(under))
	case []any:
		if u := list(under); areObjects(o) && areObjects(u) {
			union := make([]any, max(len(o), len(u)))
			for i := range union {
				union[i] = overlay(element(o, i), element(u, i))
			}
			return union
		}
	}
	return cloneValue(over)
}

// ForCreation returns the parameters for Create: forProvider over initProvider (R138, R141, D46). Update sends forProvider
// alone, and the union is never stored in the spec, where the values of initProvider would be enforced.
//
// initProvider may be nil, of the type of forProvider, a pointer to it, or a struct with some of its fields. A field that is
// neither a pointer nor has omitempty is always set, so it never takes its value from initProvider (R147).
func ForCreation[P any](forProvider P, initProvider any) (P, error) {
	over, errOver := Tree(forProvider)
	under, errUnder := Tree(initProvider)
	if err := errors.Join(errOver, errUnder); err != nil {
		var none P
		return none, err
	}
	return Typed[P](Overlay(over, under))
}
