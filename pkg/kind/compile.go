// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
	"github.com/bowline-dev/bowline/pkg/failure"
	"github.com/bowline-dev/bowline/pkg/kind/internal/mapping"
	"github.com/bowline-dev/bowline/pkg/kind/parameters"
	"github.com/bowline-dev/bowline/pkg/meta"
	"github.com/bowline-dev/bowline/pkg/reconciler/managed"
)

type compiled[C, P, O, V any] struct {
	Kind[C, P, O, V]
	system   System[C]
	rules    parameters.Rules
	defaults map[string]any // of rules, as a tree
	noun     string         // name of the external resource in errors

	declared func(*V) (P, error) // Kind.Declared, or by the names of fields; likewise observed and want
	observed func(*V) (O, error)
	want     func(*Request[P, V]) (V, error)
	inputs   map[reflect.Type]encoder[P, V]

	nullable   []string                          // fields in which the vendor's client distinguishes zero from unset
	labelsIn   func(*P) *map[string]string       // nil: the parameters have none
	parameters []mapping.StructField             // of P
	tags       [2]map[string]mapping.StructField // with tag connection, of V and O
	secretKeys map[string]string                 // keys of the connection Secret, by the references whose values they hold
	recent     acceptances
}

// compile returns an error that lists every mistake in a kind.
func compile[C, P, O, V any](s System[C], k Kind[C, P, O, V]) (*compiled[C, P, O, V], error) {
	c := &compiled[C, P, O, V]{Kind: k, system: s, rules: fieldRules[P](), noun: mapping.Noun(reflect.TypeFor[P]())}
	for _, t := range []reflect.Type{reflect.TypeFor[P](), reflect.TypeFor[O](), reflect.TypeFor[V]()} {
		if t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("kind with parameters %T: parameters, observation and vendor's type must be structs, and %s is none",
				*new(P), t)
		}
	}
	c.parameters = mapping.NamedFields(reflect.TypeFor[P]())
	var errDefaults error
	c.defaults, errDefaults = c.rules.DefaultTree()
	err := errors.Join(errDefaults, c.checkFunctions(), c.compileConversions(), c.findLabels(), c.readTags(), c.compileWant(),
		c.compileInputs(), c.findState())
	if err != nil {
		return nil, fmt.Errorf("kind with parameters %T: %w", *new(P), err)
	}
	if k.List != nil && k.Find == nil {
		c.Find = c.findByLabel
	}
	return c, nil
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

func (k *compiled[C, P, O, V]) compileConversions() error {
	var errDeclared, errObserved error
	k.declared, errDeclared = conversion(k.Declared, "parameters",
		", mark the field +bowline:compare=writeOnly, or give Kind.Declared", k.neverReturned)
	k.observed, errObserved = conversion(k.Observed, "observation", ", or give Kind.Observed",
		func(mapping.Field) bool { return false })
	if k.Declared == nil {
		k.nullable = mapping.Pointers[V, P]()
	}
	return errors.Join(errDeclared, errObserved)
}

// conversion refuses a field without a counterpart in the vendor's type: its value would never be enforced or shown.
func conversion[V, T any](authored func(*V) T, of, advice string, permitted func(mapping.Field) bool) (func(*V) (T, error), error) {
	if authored != nil {
		return infallible(authored), nil
	}
	convert, unmatched, err := mapping.New[V, T]()
	wrong := []error{err}
	for _, field := range unmatched {
		if !permitted(field) {
			wrong = append(wrong, fmt.Errorf("%T has nothing like field %s of the %s: name the counterpart by field tag vendor%s",
				*new(V), field.Path, of, advice))
		}
	}
	return convert, errors.Join(wrong...)
}

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

// findByLabel finds what an interrupted create left behind by the ownership label (N5). Several that have it were made by processes that did
// not know of each other: which one to keep is for a person to decide, since either may be in use (N88).
func (k *compiled[C, P, O, V]) findByLabel(ctx context.Context, c C, r *Request[P, V]) (ours *V, err error) {
	uid := string(r.Object.GetUID())
	found, err := k.List(ctx, c, map[string]string{meta.ExternalLabelUID: uid})
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range found {
		labels, _ := k.labelsOf(&found[i])
		if labels[meta.ExternalLabelUID] == uid && k.States[k.State(&found[i])] != Deleting {
			ours, names = &found[i], append(names, k.ID(&found[i]))
		}
	}
	if len(names) > 1 {
		return nil, failure.Terminal(failure.With(failure.CreateInterrupted, &managed.SeveralError{Label: meta.ExternalLabelUID + "=" + uid, Names: names}))
	}
	return ours, nil
}

func fieldRules[P any]() parameters.Rules {
	if ruled, ok := any(new(P)).(interface{ FieldRules() parameters.Rules }); ok {
		return ruled.FieldRules()
	}
	return parameters.Rules{}
}

// taggedFields returns the fields with tag connection, by key. It fails for those whose values cannot be read or have another
// type.
func taggedFields(of reflect.Type, fits func(reflect.Type) bool, only string) (map[string]mapping.StructField, error) {
	found, wrong := map[string]mapping.StructField{}, []error(nil)
	for _, f := range mapping.StructFields(of) {
		key, tagged := f.Tag.Lookup("connection")
		switch {
		case !tagged:
		case f.Unreachable != "":
			wrong = append(wrong, fmt.Errorf("field %s in %s has tag connection: %s cannot be connection details", f.Name, of, f.Unreachable))
		case !fits(f.Type):
			wrong = append(wrong, fmt.Errorf("field %s.%s has tag connection: %s can be connection details", of, f.Name, only))
		default:
			found[key] = f
		}
	}
	return found, errors.Join(wrong...)
}

func hasText(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.String || t.Kind() >= reflect.Bool && t.Kind() <= reflect.Uint64
}

func isSecretReference(t reflect.Type) bool {
	return t == reflect.TypeFor[*xpv1.SecretKeySelector]() || t == reflect.TypeFor[*xpv1.LocalSecretKeySelector]()
}

func (k *compiled[C, P, O, V]) readTags() (err error) {
	for i, of := range []reflect.Type{reflect.TypeFor[V](), reflect.TypeFor[O]()} {
		if k.tags[i], err = taggedFields(of, hasText, "only texts and numbers"); err != nil {
			return err
		}
	}
	if k.Await != nil && k.Identity != ByToken && (len(k.tags[0]) > 0 || k.Connection != nil) {
		return fmt.Errorf("connection details in the answer of Create, by tags in %T or Kind.Connection, and Await need Identity ByToken: "+
			"a process that ends while it waits would lose one-time values. Let the vendor repeat its answer or generate secrets "+
			"beforehand (+bowline:generated), and tag what every Get returns in the observation", *new(V))
	}
	references, err := taggedFields(reflect.TypeFor[P](), isSecretReference, "of parameters only references to Secrets")
	k.secretKeys = map[string]string{}
	for key, f := range references {
		k.secretKeys[f.Path] = key
	}
	maps.Copy(k.secretKeys, k.rules.Generated)
	for _, field := range k.Rotates {
		if k.secretKeys[field] == "" || k.Kind.Update == nil {
			err = errors.Join(err, fmt.Errorf("the value of %s in Rotates has no key in the connection Secret, or there is no Update: mark the "+
				"field +bowline:generated, or give it tag connection", field))
		}
	}
	return err
}

func (k *compiled[C, P, O, V]) connection(c C, have *V, observed *O) managed.ConnectionDetails {
	details := managed.ConnectionDetails{}
	for i, from := range []reflect.Value{reflect.ValueOf(have), reflect.ValueOf(observed)} {
		for key, f := range k.tags[i] { // 0 and false count as unset, unless they are behind a pointer
			if value, err := from.Elem().FieldByIndexErr(f.Indices); err == nil && !value.IsZero() {
				details[key] = fmt.Append(nil, reflect.Indirect(value).Interface())
			}
		}
	}
	if k.Connection != nil {
		maps.Copy(details, k.Connection(c, have))
	}
	maps.DeleteFunc(details, func(_ string, value []byte) bool { return len(value) == 0 })
	return details
}

// Input returns what r describes, as one of the types in Kind.Inputs. It panics for any other type.
func Input[T, P, V any](r *Request[P, V]) T {
	input, ok := r.inputs[reflect.TypeFor[T]()].(T)
	if !ok {
		panic(fmt.Sprintf("%T is not in Kind.Inputs, or the call is neither Create nor Update", input))
	}
	return input
}

type encoder[P, V any] func(r *Request[P, V], to reflect.Value) error

func (k *compiled[C, P, O, V]) encoder(of reflect.Type) (encoder[P, V], error) {
	copyFields, err := mapping.Between[P](of)
	if err != nil {
		return nil, err
	}
	name, named := mapping.FieldNamed[string](of, "Name")
	labels, labelled := mapping.FieldNamed[map[string]string](of, "Labels", "Tags")
	return func(r *Request[P, V], to reflect.Value) error {
		err := copyFields(&r.Parameters, to)
		if named && k.ID == nil && name.Get(to) == "" {
			name.Set(to, r.Name)
		}
		if labelled {
			labels.Set(to, r.Labels)
		}
		return err
	}, nil
}

func (k *compiled[C, P, O, V]) compileWant() error {
	if k.Want != nil {
		k.want = infallible(k.Want)
		return nil
	}
	encode, err := k.encoder(reflect.TypeFor[V]())
	if err != nil {
		return fmt.Errorf("%w: give Kind.Want", err)
	}
	k.want = func(r *Request[P, V]) (want V, err error) {
		err = encode(r, reflect.ValueOf(&want).Elem())
		return want, err
	}
	return nil
}

func (k *compiled[C, P, O, V]) compileInputs() error {
	k.inputs = map[reflect.Type]encoder[P, V]{}
	for _, input := range k.Inputs {
		of := reflect.TypeOf(input)
		if of == nil {
			return errors.New("one of Kind.Inputs is nil: give an empty struct of each type")
		}
		if of.Kind() == reflect.Pointer {
			return fmt.Errorf("one of Kind.Inputs is a %s: give %s{}", of, of.Elem())
		}
		encode, err := k.encoder(of)
		if err != nil {
			return fmt.Errorf("%w: leave it out of Kind.Inputs and fill it by hand", err)
		}
		k.inputs[of] = encode
	}
	return nil
}

// describe adds Want and the inputs to a request. The error is an unfitError; then nothing must be sent.
func (k *compiled[C, P, O, V]) describe(r *Request[P, V]) (err error) {
	if r.Want, err = k.want(r); err != nil {
		return unfitError{err}
	}
	r.inputs = make(map[reflect.Type]any, len(k.inputs))
	for of, encode := range k.inputs {
		input := reflect.New(of).Elem()
		if err := encode(r, input); err != nil {
			return unfitError{err}
		}
		r.inputs[of] = input.Interface()
	}
	return nil
}

type unfitError struct{ error }

func (e unfitError) Unwrap() error { return e.error }
