// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import "errors"

// LateInitialize is Fill for Go structs: it fills the empty fields of forProvider from observed and reports whether it filled
// any. On error, for example for a nil forProvider, it changes nothing. Call it in Observe; the reconciler stores the object
// if its management policies permit (R152).
func LateInitialize[P any](forProvider *P, observed P, options ...Option) (changed bool, err error) {
	if forProvider == nil {
		return false, errors.New("late initialization of nil parameters: give the address of the object's spec.forProvider")
	}
	s, spec, theirs, err := trees(forProvider, observed, options)
	if err != nil {
		return false, err
	}
	tree, filled := s.fill(spec, theirs)
	if len(filled) == 0 {
		return false, nil
	}
	p, err := Typed[P](tree)
	if err != nil {
		return false, err
	}
	*forProvider = p
	return true, nil
}

// Fill returns spec with its empty fields filled from observed, and the sorted paths of the filled fields. A field is empty if
// it is absent, nil, or an empty string, list or object (R155); all others are kept, also false and 0 (R149). Further keys of
// a map are filled too (R151), except ownership labels (P15). Fields that InitProvider sets or Ignore or Chosen names are not
// filled (R146).
//
// A list that is not empty gets no further elements. Its objects are filled from those at the same index if all fields that
// both set are equal: else they may be different things, and a wrong value would be enforced.
func Fill(spec, observed map[string]any, options ...Option) (filled map[string]any, fields []string) {
	return newSettings(options).fill(spec, observed)
}

func (s *settings) fill(spec, observed map[string]any) (map[string]any, []string) {
	f := filling{settings: s}
	tree := f.object(path{}, spec, observed, object(s.initial))
	return tree, f.filled
}

// A filling is one run of Fill.
type filling struct {
	*settings
	filled []string
}

func (f *filling) object(at path, spec, observed, except map[string]any) map[string]any {
	result := clone(spec)
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
	if f.ignored.has(at) || f.chosen.has(at) {
		return cloneValue(spec)
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
		case areObjects(s) && !f.sets.has(at):
			return f.elements(at, s, o, withoutOwnership(list(except)))
		}
		observed = o
	}
	if !isEmpty(spec) || isEmpty(observed) || except != nil {
		return cloneValue(spec)
	}
	f.filled = append(f.filled, at.exact)
	return cloneValue(observed)
}

// elements returns nil if the list was empty and nothing was filled. Otherwise empty elements are kept as empty objects, since
// the index of an element matters.
func (f *filling) elements(at path, spec, observed, except []any) any {
	result := clone(spec)
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
