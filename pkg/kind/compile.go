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

// A compiled kind is a Kind and all that follows from its types, found once.
type compiled[C, P, O, V any] struct {
	Kind[C, P, O, V]
	system System[C]
	rules  parameters.Rules
	noun   string // name of the external resource in errors

	declared func(*V) (P, error) // Kind.Declared, or by the names of fields; likewise observed and want
	observed func(*V) (O, error)
	want     func(*Request[P, V]) (V, error)
	inputs   map[reflect.Type]encoder[P, V]

	nullable   []string                    // fields in which the vendor's client distinguishes zero from unset
	labelsIn   func(*P) *map[string]string // nil: the parameters have none
	parameters []mapping.StructField       // of P
	tags       [2]connectionTags           // of V and O
	secretKeys map[string]string           // keys of the connection Secret, by the references whose values they hold
}

// compile returns an error that lists every mistake in a kind.
func compile[C, P, O, V any](s System[C], k Kind[C, P, O, V]) (*compiled[C, P, O, V], error) {
	c := &compiled[C, P, O, V]{Kind: k, system: s, rules: fieldRules[P](), noun: words(reflect.TypeFor[V]().Name())}
	for _, t := range []reflect.Type{reflect.TypeFor[P](), reflect.TypeFor[O](), reflect.TypeFor[V]()} {
		if t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("kind with parameters %T: parameters, observation and vendor's type must be structs, and %s is none", *new(P), t)
		}
	}
	c.parameters = mapping.NamedFields(reflect.TypeFor[P]())
	err := errors.Join(c.checkFunctions(), c.compileConversions(), c.findLabels(), c.readTags(), c.compileWant(), c.compileInputs(), c.findState())
	if err != nil {
		return nil, fmt.Errorf("kind with parameters %T: %w", *new(P), err)
	}
	if k.List != nil && k.Find == nil {
		c.Find = c.findByLabel
	}
	return c, nil
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

func (k *compiled[C, P, O, V]) checkFunctions() error {
	var wrong []error
	for _, rule := range []struct {
		ok     bool
		advice string
	}{
		{k.Get != nil && k.Create != nil && k.Delete != nil, "Get, Create and Delete are needed"},
		{k.Identity >= ByName && k.Identity <= Unfindable, "set Identity: it declares how external resources get their names"},
		{k.Identity != ByName || k.ID == nil, "Identity ByName has no ID: names are chosen"},
		{k.Identity != ByLabel || k.ID != nil && (k.Find != nil || k.List != nil), "Identity ByLabel needs ID, and List or Find"},
		{k.Identity != ByLabel || k.Find != nil || k.rules.Labels != "" || k.Labels != nil, "Identity ByLabel needs labels: " +
			"mark the field of the parameters that holds them +bowline:labels, or give Kind.Labels, or Kind.Find"},
		{k.Identity != Unfindable || k.ID != nil && k.Find == nil && k.List == nil, "Identity Unfindable needs ID, and no List or Find"},
		{k.Identity != Unfindable || k.Await == nil,
			"Identity Unfindable excludes Await: a create that is interrupted while it waits would need manual intervention"},
	} {
		if !rule.ok {
			wrong = append(wrong, errors.New(rule.advice))
		}
	}
	return errors.Join(wrong...)
}

// compileConversions compiles the conversions that the author does not give. Fields without a counterpart in the vendor's type
// are mistakes, since their values would never be enforced.
func (k *compiled[C, P, O, V]) compileConversions() error {
	var wrong []error
	k.declared, k.observed = infallible(k.Declared), infallible(k.Observed)
	if k.Declared == nil {
		m, err := mapping.New[V, P]()
		wrong = append(wrong, err)
		for _, field := range m.Unmatched {
			if !k.neverReturned(field) {
				wrong = append(wrong, fmt.Errorf("%T has nothing like field %s of the parameters: name the counterpart by field tag vendor, "+
					"mark the field +bowline:compare=writeOnly, or give Kind.Declared", *new(V), field.Path))
			}
		}
		k.declared, k.nullable = m.Copy, mapping.Pointers[V, P]()
	}
	if k.Observed == nil {
		m, err := mapping.New[V, O]()
		wrong = append(wrong, err)
		for _, field := range m.Unmatched {
			wrong = append(wrong, fmt.Errorf("%T has nothing like field %s of the observation: name the counterpart by field tag vendor, "+
				"or give Kind.Observed", *new(V), field.Path))
		}
		k.observed = m.Copy
	}
	return errors.Join(wrong...)
}

// infallible is a conversion that does not fail.
func infallible[V, T any](convert func(V) T) func(V) (T, error) {
	return func(v V) (T, error) { return convert(v), nil }
}

// neverReturned is true for fields that no vendor returns: references, Secrets, and fields that are marked write-only.
func (k *compiled[C, P, O, V]) neverReturned(field mapping.Field) bool {
	if isReference(field.Type) || field.Path == k.rules.Labels && k.Labels != nil {
		return true
	}
	return slices.ContainsFunc(slices.Concat(k.rules.WriteOnly, k.rules.Ignored), func(marked string) bool {
		return field.Path == marked || strings.HasPrefix(field.Path, marked+".")
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

// findState finds the vendor's fields for state and message.
func (k *compiled[C, P, O, V]) findState() error {
	if k.State == nil {
		state, ok := mapping.FieldNamed[string](reflect.TypeFor[V](), "Status", "State")
		if !ok && k.States != nil {
			return fmt.Errorf("there are States, but %T has no text field Status or State: give Kind.State", *new(V))
		}
		k.State = textOf[V](state, ok)
	}
	if k.Message == nil {
		k.Message = textOf[V](mapping.FieldNamed[string](reflect.TypeFor[V](), "Message", "StatusMessage"))
	}
	return nil
}

func textOf[V any](text mapping.Accessor[string], ok bool) func(*V) string {
	if !ok {
		return func(*V) string { return "" }
	}
	return func(v *V) string { return text.Get(reflect.ValueOf(v).Elem()) }
}

// findByLabel finds what an interrupted create left behind by the ownership label (N5).
func (k *compiled[C, P, O, V]) findByLabel(ctx context.Context, c C, r *Request[P, V]) (*V, error) {
	uid := string(r.Object.GetUID())
	found, err := k.List(ctx, c, map[string]string{meta.ExternalLabelUID: uid})
	if err != nil {
		return nil, err
	}
	for i := range found {
		labels, _ := k.labelsOf(&found[i])
		if labels[meta.ExternalLabelUID] == uid && k.States[k.State(&found[i])] != Deleting {
			return &found[i], nil
		}
	}
	return nil, nil
}

// fieldRules returns the rules of a parameters type, if it has any.
func fieldRules[P any]() parameters.Rules {
	if ruled, ok := any(new(P)).(interface{ FieldRules() parameters.Rules }); ok {
		return ruled.FieldRules()
	}
	return parameters.Rules{}
}
