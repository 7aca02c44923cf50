// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lists finds external resources of Terraform providers whose ids nobody knows, by lists of their types.
//
// A list has a configuration of its own, such as a region, which a Template makes for an object. What is found is imported: a list has no
// private states.
package lists

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bowline-dev/bowline/pkg/terraform/kinds"
	"github.com/bowline-dev/bowline/pkg/terraform/plugin"
)

// uidInput is the input of templates that is the UID of the object.
const uidInput = "{metadata.uid}"

// at is the setting of configurations, in errors.
const at = "listConfig"

// A Template makes configurations of lists of a resource type. Each text in it is a kinds.Template, in which {metadata.uid} is the UID of the
// object.
type Template struct{ of map[string]any }

// NewTemplate returns a template, which may be nil. Its errors are about inputs that the type lacks, and fields that its list lacks.
func NewTemplate(r plugin.Resource, of map[string]any) (*Template, error) {
	if len(of) == 0 {
		return &Template{}, nil
	}
	if r.List == nil {
		return nil, fmt.Errorf("the provider does not list %s: remove %s", r.Type, at)
	}
	example, err := replaced(of, func(text string) (string, error) {
		_, err := kinds.NewTemplate(r.Schema.Block, strings.ReplaceAll(text, uidInput, "uid"))
		return text, err
	})
	if err != nil {
		return nil, err
	}
	return &Template{of}, check(r, example.(map[string]any))
}

// Config returns the configuration of a list for an object, by what it declares. An error says why there is none.
func (t *Template) Config(r plugin.Resource, declared map[string]any, uid string) (map[string]any, error) {
	if r.List == nil {
		return nil, fmt.Errorf("the provider does not list %s", r.Type)
	}
	config, err := replaced(t.of, func(text string) (string, error) {
		template, err := kinds.NewTemplate(r.Schema.Block, strings.ReplaceAll(text, uidInput, uid))
		if err != nil {
			return "", err
		}
		filled, ok := template.Text(declared)
		if !ok {
			return "", fmt.Errorf("the object does not set all of %s in %s", text, at)
		}
		return filled, nil
	})
	if err != nil {
		return nil, err
	}
	return config.(map[string]any), check(r, config.(map[string]any))
}

// CheckEmpty returns an error for a type that is listed, but not without arguments.
func CheckEmpty(r plugin.Resource) error { return check(r, map[string]any{}) }

// check returns an error about fields that the configuration of a list lacks, or that do not fit.
func check(r plugin.Resource, config map[string]any) error {
	value, err := kinds.Config(r.List.Block, at, config, noSecrets)
	if err == nil {
		err = kinds.CheckRequired(r.List.Block, at, value)
	}
	if err != nil {
		return fmt.Errorf("%s of spec.typeSettings must have the arguments of list resource %s in the provider's documentation: %w", at, r.Type, err)
	}
	return nil
}

func noSecrets(string) ([]byte, bool) { return nil, false }

// replaced returns a copy of a value with other texts. An object without content is empty.
func replaced(in any, text func(string) (string, error)) (any, error) {
	var errs []error
	switch in := in.(type) {
	case string:
		return text(in)
	case map[string]any:
		out := make(map[string]any, len(in))
		for key, value := range in {
			var err error
			out[key], err = replaced(value, text)
			errs = append(errs, err)
		}
		return out, errors.Join(errs...)
	case []any:
		out := make([]any, len(in))
		for i, value := range in {
			var err error
			out[i], err = replaced(value, text)
			errs = append(errs, err)
		}
		return out, errors.Join(errs...)
	}
	return in, nil
}
