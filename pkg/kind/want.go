// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/bowline-dev/bowline/pkg/kind/internal/mapping"
)

// Input returns what r describes in a type of Kind.Inputs. It panics for other types, which is the author's mistake.
func Input[T, P, V any](r *Request[P, V]) T {
	input, ok := r.inputs[reflect.TypeFor[T]()].(T)
	if !ok {
		panic(fmt.Sprintf("%T is none of Kind.Inputs, or this is neither Create nor Update", input))
	}
	return input
}

// A sender makes a value in one of the vendor's types of what a request describes.
type sender[P, V any] func(r *Request[P, V], to reflect.Value) error

func (s *served[C, P, O, V]) sender(of reflect.Type) (sender[P, V], error) {
	copied, err := mapping.Between[P](of)
	if err != nil {
		return nil, err
	}
	name, named := field[string](of, "Name")
	labels, labelled := field[map[string]string](of, "Labels", "Tags")
	return func(r *Request[P, V], to reflect.Value) error {
		err := copied(&r.Parameters, to)
		if named && s.ID == nil && name.get(to) == "" {
			name.set(to, r.Name)
		}
		if labelled {
			labels.set(to, r.Labels)
		}
		return err
	}, nil
}

// makeWant makes what fills Request.Want, unless the author does.
func (s *served[C, P, O, V]) makeWant() error {
	if s.Want != nil {
		s.want = always(s.Want)
		return nil
	}
	send, err := s.sender(reflect.TypeFor[V]())
	if err != nil {
		return fmt.Errorf("%w: give Kind.Want", err)
	}
	s.want = func(r *Request[P, V]) (want V, err error) {
		err = send(r, reflect.ValueOf(&want).Elem())
		return want, err
	}
	return nil
}

// makeInputs makes what Input returns.
func (s *served[C, P, O, V]) makeInputs() error {
	s.inputs = map[reflect.Type]sender[P, V]{}
	for _, input := range s.Inputs {
		of := reflect.TypeOf(input)
		if of == nil {
			return errors.New("one of Kind.Inputs is nil: give an empty struct of each type")
		}
		if of.Kind() == reflect.Pointer {
			return fmt.Errorf("one of Kind.Inputs is a %s: give %s{}", of, of.Elem())
		}
		send, err := s.sender(of)
		if err != nil {
			return fmt.Errorf("%w: leave it out of Kind.Inputs and fill it by hand", err)
		}
		s.inputs[of] = send
	}
	return nil
}

// describe completes a request by what is to be sent, in the vendor's types. What does not fit is sent to nobody.
func (s *served[C, P, O, V]) describe(r *Request[P, V]) (err error) {
	if r.Want, err = s.want(r); err != nil {
		return unfitError{err}
	}
	r.inputs = make(map[reflect.Type]any, len(s.inputs))
	for of, send := range s.inputs {
		input := reflect.New(of).Elem()
		if err := send(r, input); err != nil {
			return unfitError{err}
		}
		r.inputs[of] = input.Interface()
	}
	return nil
}

// unfitError marks an error of what is to be sent.
type unfitError struct{ error }

func (e unfitError) Unwrap() error { return e.error }
