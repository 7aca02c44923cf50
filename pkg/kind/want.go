// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/bowline-dev/bowline/pkg/kind/internal/mapping"
)

// Input returns what r describes, as one of the types in Kind.Inputs. It panics for any other type.
func Input[T, P, V any](r *Request[P, V]) T {
	input, ok := r.inputs[reflect.TypeFor[T]()].(T)
	if !ok {
		panic(fmt.Sprintf("%T is not in Kind.Inputs, or the call is neither Create nor Update", input))
	}
	return input
}

// An encoder sets a value of a vendor's type to what a request describes.
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

// An unfitError is about settings that do not fit the vendor's types.
type unfitError struct{ error }

func (e unfitError) Unwrap() error { return e.error }
