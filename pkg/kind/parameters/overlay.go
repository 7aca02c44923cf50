// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import "errors"

// Overlay returns the union of two trees (R141). Where both set a field it has the value of over (R142), be that false, 0
// or an empty string. Objects are merged field by field and lists of objects element by element; what only one list has
// is taken from it. Any other list is one value, and so are references to objects and secrets and their selectors.
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

// ForCreation returns what Create sends: forProvider laid over initProvider, as Overlay does it (R138, R141, D46). Update
// sends forProvider alone, and nobody stores this union in the spec, else the values of initProvider would be enforced.
//
// The type of initProvider, which may be nil, is that of forProvider, a pointer to it, or one with some of its fields. A
// field that is neither a pointer nor has omitempty is always set, so it never takes its value from initProvider (R147).
func ForCreation[P any](forProvider P, initProvider any) (P, error) {
	over, errOver := Tree(forProvider)
	under, errUnder := Tree(initProvider)
	if err := errors.Join(errOver, errUnder); err != nil {
		var none P
		return none, err
	}
	return Typed[P](Overlay(over, under))
}
