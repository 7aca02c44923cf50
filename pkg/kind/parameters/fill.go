// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import "k8s.io/apimachinery/pkg/runtime"

// Overlay returns the union of two trees (R141). A field that both set has the value of over (R142), be that false, 0 or an
// empty string. Objects are merged by field and lists of objects by element; further elements are taken from the longer
// list. Any other list is one value, and so are references, selectors and Secret references.
//
// Create sends spec.forProvider over spec.initProvider (R138, D46). The union is never stored in the spec, where the values of
// initProvider would be enforced. A field of a Go type that is neither a pointer nor has omitempty is always set, so it never
// takes its value from initProvider (R147).
func Overlay(over, under map[string]any) map[string]any {
	if over == nil {
		return runtime.DeepCopyJSON(under)
	}
	union := runtime.DeepCopyJSON(over)
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
		return runtime.DeepCopyJSONValue(under)
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
	return runtime.DeepCopyJSONValue(over)
}

// Fill returns spec with its empty fields filled from observed, and the sorted paths of the filled fields. A field is empty if
// it is absent, nil, or an empty string, list or object (R155); all others are kept, also false and 0 (R149). Further keys of
// a map are filled too (R151), except ownership labels (P15). Fields that initial sets, the tree of spec.initProvider, and those
// that are WriteOnly, Ignored or Chosen are not filled (R146).
//
// A list that is not empty gets no further elements. Its objects are filled from those at the same index if all fields that
// both set are equal: else they may be different things, and a wrong value would be enforced.
func (r Rules) Fill(spec, observed, initial map[string]any) (filled map[string]any, fields []string) {
	f := filling{Rules: &r}
	filled = f.object(path{}, spec, observed, initial)
	return filled, f.filled
}

// A filling is one run of Fill.
type filling struct {
	*Rules
	filled []string
}

func (f *filling) object(at path, spec, observed, except map[string]any) map[string]any {
	result := runtime.DeepCopyJSON(spec)
	for _, name := range names(observed) {
		if isReferenceField(name, spec[name]) || isEmpty(spec[name]) && isOwnership(name) {
			continue
		}
		value := f.value(at.field(name), spec[name], observed[name], except[name])
		if isEmpty(value) {
			continue
		}
		if result == nil {
			result = map[string]any{}
		}
		result[name] = value
	}
	return result
}

func (f *filling) value(at path, spec, observed, except any) any {
	if f.ignores(at) || at.in(f.Chosen) {
		return runtime.DeepCopyJSONValue(spec)
	}
	switch o := observed.(type) {
	case map[string]any:
		if s := object(spec); s != nil || isEmpty(spec) {
			return f.object(at, s, o, object(except))
		}
	case []any:
		o, s := withoutOwnership(o), list(spec)
		switch {
		case isEmpty(spec) && areObjects(o) && (except == nil || areObjects(list(except))):
			return f.elements(at, make([]any, len(o)), o, withoutOwnership(list(except)))
		case areObjects(s) && !at.in(f.Sets):
			return f.elements(at, s, o, withoutOwnership(list(except)))
		}
		observed = o
	}
	if !isEmpty(spec) || isEmpty(observed) || except != nil {
		return runtime.DeepCopyJSONValue(spec)
	}
	f.filled = append(f.filled, at.exact)
	return runtime.DeepCopyJSONValue(observed)
}

// elements returns nil if the list was empty and nothing was filled. Otherwise empty elements are kept as empty objects, since
// the index of an element matters.
func (f *filling) elements(at path, spec, observed, except []any) any {
	result := list(runtime.DeepCopyJSONValue(spec))
	changed := false
	for i := range result {
		if i < len(observed) && f.agree(at.index(i), spec[i], observed[i]) {
			result[i] = f.value(at.index(i), spec[i], observed[i], element(except, i))
		}
		changed = changed || spec[i] != nil || !isEmpty(result[i])
		if isEmpty(result[i]) {
			result[i] = map[string]any{}
		}
	}
	if !changed {
		return nil
	}
	return result
}

// agree is true if all fields that both set are equal.
func (f *filling) agree(at path, spec, observed any) bool {
	return f.matches(at, spec, overlay(observed, spec), observed)
}
