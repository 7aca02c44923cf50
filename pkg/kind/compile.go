// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/kind/internal/mapping"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
)

// A served is a kind with all that its types tell, found once.
type served[C, P, O, V any] struct {
	Kind[C, P, O, V]
	system System[C]
	rules  parameters.Rules
	noun   string // how errors call the external resource: as the vendor does

	declared func(*V) (P, error) // Kind.Declared, or by the names of fields; as are the other two
	observed func(*V) (O, error)
	want     func(*Request[P, V]) (V, error)
	inputs   map[reflect.Type]sender[P, V]

	told     []string                    // fields of which answers tell zero from nothing
	labelsIn func(*P) *map[string]string // nil: parameters have none
	details  [2]tags                     // of V and O
	shown    map[string]string           // keys of the connection secret by the references whose values they show
}

// compile completes a kind by what its types tell. The error lists everything that is wrong with it.
func compile[C, P, O, V any](s System[C], k Kind[C, P, O, V]) (*served[C, P, O, V], error) {
	sv := &served[C, P, O, V]{Kind: k, system: s, rules: fieldRules[P](), noun: words(reflect.TypeFor[V]().Name())}
	for _, t := range []reflect.Type{reflect.TypeFor[P](), reflect.TypeFor[O](), reflect.TypeFor[V]()} {
		if t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("kind with parameters %T: parameters, observation and what the vendor answers must be structs, and %s is none", *new(P), t)
		}
	}
	err := errors.Join(sv.checkFunctions(), sv.convert(), sv.readLabels(), sv.readTags(), sv.makeWant(), sv.makeInputs(), sv.readState())
	if err != nil {
		return nil, fmt.Errorf("kind with parameters %T: %w", *new(P), err)
	}
	if k.List != nil && k.Find == nil {
		sv.Find = sv.findByLabel
	}
	return sv, nil
}

// words returns node group for NodeGroup.
func words(name string) string {
	var text strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) && unicode.IsLower(rune(name[i-1])) {
			text.WriteByte(' ')
		}
		text.WriteRune(unicode.ToLower(r))
	}
	return text.String()
}

func (s *served[C, P, O, V]) checkFunctions() error {
	var wrong []error
	demand := func(ok bool, advice string) {
		if !ok {
			wrong = append(wrong, errors.New(advice))
		}
	}
	demand(s.Get != nil && s.Create != nil && s.Delete != nil, "Get, Create and Delete are needed")
	demand(s.Identity >= ByName && s.Identity <= Unfindable, "say by Identity how external resources come by their names")
	demand(s.Identity != ByName || s.ID == nil, "Identity ByName has no ID: names are chosen")
	demand(s.Identity != ByLabel || s.ID != nil && (s.Find != nil || s.List != nil), "Identity ByLabel needs ID, and List or Find")
	demand(s.Identity != ByLabel || s.Find != nil || s.rules.Labels != "" || s.Labels != nil, "Identity ByLabel needs labels: "+
		"mark the field of the parameters that holds them +bowline:labels, or give Kind.Labels, or Kind.Find")
	demand(s.Identity != Unfindable || s.ID != nil && s.Find == nil && s.List == nil, "Identity Unfindable needs ID, and no List or Find")
	demand(s.Identity != Unfindable || s.Await == nil,
		"Identity Unfindable goes without Await: a creation that is cut off while it is waited for would wait for a person")
	return errors.Join(wrong...)
}

// convert makes the conversions that the author does not give. Fields that no answer of the vendor's fills are mistakes,
// since what they declare would never be enforced.
func (s *served[C, P, O, V]) convert() error {
	var wrong []error
	s.declared, s.observed = always(s.Declared), always(s.Observed)
	if s.Declared == nil {
		m, err := mapping.New[V, P]()
		wrong = append(wrong, err)
		for _, field := range m.Unmatched {
			if !s.unanswered(field) {
				wrong = append(wrong, fmt.Errorf("%T has nothing like field %s of the parameters: say where it is by field tag vendor, "+
					"mark the field +bowline:compare=writeOnly, or give Kind.Declared", *new(V), field.Path))
			}
		}
		s.declared, s.told = m.Copy, mapping.Pointers[V, P]()
	}
	if s.Observed == nil {
		m, err := mapping.New[V, O]()
		wrong = append(wrong, err)
		for _, field := range m.Unmatched {
			wrong = append(wrong, fmt.Errorf("%T has nothing like field %s of the observation: say where it is by field tag vendor, "+
				"or give Kind.Observed", *new(V), field.Path))
		}
		s.observed = m.Copy
	}
	return errors.Join(wrong...)
}

// always is a conversion that does not fail.
func always[V, T any](convert func(V) T) func(V) (T, error) {
	return func(v V) (T, error) { return convert(v), nil }
}

// unanswered is true for fields that no vendor answers: references, Secrets, and what is said to be write-only.
func (s *served[C, P, O, V]) unanswered(field mapping.Field) bool {
	if isReference(field.Type) || field.Path == s.rules.Labels && s.Labels != nil {
		return true
	}
	return slices.ContainsFunc(slices.Concat(s.rules.WriteOnly, s.rules.Ignored), func(unanswered string) bool {
		return field.Path == unanswered || strings.HasPrefix(field.Path, unanswered+".")
	})
}

// isReference is true for references to objects and Secrets, for selectors, and for lists of them.
func isReference(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return slices.Contains([]reflect.Type{
		reflect.TypeFor[xpv1.Reference](), reflect.TypeFor[xpv1.NamespacedReference](),
		reflect.TypeFor[xpv1.Selector](), reflect.TypeFor[xpv1.NamespacedSelector](),
		reflect.TypeFor[xpv1.SecretReference](), reflect.TypeFor[xpv1.SecretKeySelector](), reflect.TypeFor[xpv1.LocalSecretKeySelector](),
	}, t)
}

// readLabels finds the field with the labels in the parameters.
func (s *served[C, P, O, V]) readLabels() error {
	if s.rules.Labels == "" {
		return nil
	}
	at, ok := fieldAt(reflect.TypeFor[P](), strings.Split(s.rules.Labels, "."))
	if !ok {
		return fmt.Errorf("there is no field %s for labels that is a map of strings to strings outside lists and pointers", s.rules.Labels)
	}
	s.labelsIn = func(p *P) *map[string]string {
		field := reflect.ValueOf(p).Elem().FieldByIndex(at).Addr()
		labels, _ := field.Convert(reflect.TypeFor[*map[string]string]()).Interface().(*map[string]string)
		return labels
	}
	return nil
}

// readState finds the vendor's fields with state and message.
func (s *served[C, P, O, V]) readState() error {
	if s.State == nil {
		state, ok := field[string](reflect.TypeFor[V](), "Status", "State")
		if !ok && s.States != nil {
			return fmt.Errorf("there are States, but %T has no text field Status or State: give Kind.State", *new(V))
		}
		s.State = textOf[V](state, ok)
	}
	if s.Message == nil {
		s.Message = textOf[V](field[string](reflect.TypeFor[V](), "Message", "StatusMessage"))
	}
	return nil
}

func textOf[V any](text access[string], ok bool) func(*V) string {
	if !ok {
		return func(*V) string { return "" }
	}
	return func(v *V) string { return text.get(reflect.ValueOf(v).Elem()) }
}

// findByLabel finds what a creation left behind by the label of ownership (N5).
func (s *served[C, P, O, V]) findByLabel(ctx context.Context, c C, r *Request[P, V]) (*V, error) {
	uid := string(r.Object.GetUID())
	found, err := s.List(ctx, c, map[string]string{meta.ExternalLabelUID: uid})
	if err != nil {
		return nil, err
	}
	for i := range found {
		labels, _ := s.labelsOf(&found[i])
		if labels[meta.ExternalLabelUID] == uid && s.States[s.State(&found[i])] != Deleting {
			return &found[i], nil
		}
	}
	return nil, nil
}

// labelsOf are the labels of an external resource, if it can carry any.
func (s *served[C, P, O, V]) labelsOf(have *V) (labels map[string]string, can bool) {
	switch {
	case s.Labels != nil:
		return s.Labels(have), true
	case s.labelsIn != nil:
		declared, _ := s.declared(have) // what does not fit is no label, and compare tells it
		return *s.labelsIn(&declared), true
	}
	return nil, false
}
