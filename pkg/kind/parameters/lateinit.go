// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import "errors"

// LateInitialize fills the empty fields of forProvider from what the vendor chose, as Fill does it, and tells whether it
// filled any. P is a struct. If it fails, forProvider is as before. It fails for nil, since nobody would see what is filled.
//
// Client code calls it in Observe and reports the result; storing the object is the reconciler's work, and so is to leave
// it out where the resource's policies say so (R152).
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

// Fill returns spec with its empty fields filled from observed, and the paths of what it filled, sorted. A field is empty
// if it is absent, nil, an empty string, list or object (R155); any other stays as it is (R149), also false and 0. The
// keys that others added to a map are filled too (R151), other than the labels of ownership (P15). What InitProvider sets
// or Ignore or Chosen names is not filled (R146).
//
// A list that is not empty gets no further elements. Its elements that are objects are filled from those of the same
// index, if all that both set is equal: else they are perhaps different things, and a wrong value would be enforced.
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

// elements returns nil if there is nothing to fill and there was nothing. Otherwise elements without anything stay as
// empty objects, because indices have a meaning.
func (f *filling) elements(at path, spec, observed, except []any) any {
	result := clone(spec)
	something := false
	for i := range result {
		if i < len(observed) && f.agree(at.index(i), spec[i], observed[i]) {
			result[i] = f.value(at.index(i), spec[i], observed[i], element(except, i))
		}
		something = something || spec[i] != nil || !isEmpty(result[i])
		if isEmpty(result[i]) {
			result[i] = map[string]any{}
		}
	}
	if !something {
		return nil
	}
	return result
}

// agree is true if all fields that both set are equal: laid over spec, observed then differs from it in nothing.
func (f *filling) agree(at path, spec, observed any) bool {
	return f.matches(at, spec, overlay(observed, spec), observed)
}
