// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

// Child returns the path of a field or key, as package parameters writes it: a key such as example.org/team is in brackets.
func Child(at, name string) string {
	switch {
	case strings.ContainsAny(name, "./[]"):
		return at + "[" + name + "]"
	case at == "":
		return name
	}
	return at + "." + name
}

// Item returns the path of an element of a list.
func Item(at string, i int) string { return at + "[" + strconv.Itoa(i) + "]" }

// FieldPath returns the path of a value as the API has it, such as ingress[0].fromPort. An element of a set has no index: ingress[*].
func FieldPath(b *schema.Block, path cty.Path) string {
	s, at := shapeOfBlock(b), ""
	for _, step := range path {
		switch step := step.(type) {
		case cty.GetAttrStep:
			f, ok := s.field(func(f field) bool { return f.attribute == step.Name })
			if !ok {
				f.name = step.Name
			}
			at, s = Child(at, f.name), f.shape
		case cty.IndexStep:
			at, s = at+index(s, step.Key), s.element(step.Key)
		}
	}
	return at
}

func index(of shape, key cty.Value) string {
	switch {
	case of.form == set || !key.IsKnown() || key.IsNull():
		return "[*]"
	case key.Type() == cty.String:
		return strings.TrimPrefix(Child("-", key.AsString()), "-")
	case key.Type() == cty.Number:
		return "[" + key.AsBigFloat().Text('f', -1) + "]"
	}
	return "[*]"
}

var step = regexp.MustCompile(`^(?:\.?([^.\[\]]+)|\[([^\[\]]+)\])`)

// AttributePath returns the path of an input, such as ingress[0].fromPort, as Terraform has it.
func AttributePath(b *schema.Block, path string) (cty.Path, error) {
	result, _, _, err := resolve(b, path)
	return result, err
}

// LabelsPath returns the path of an input for labels: a map of texts that are no secrets.
func LabelsPath(b *schema.Block, path string) (cty.Path, error) {
	result, s, secret, err := resolve(b, path)
	if err == nil && (secret || s.form != mapping || s.item.form != scalar || s.item.cty != cty.String) {
		err = fmt.Errorf("field %s is no map of texts: name one such as tags or labels", path)
	}
	return result, err
}

// resolve returns the path of an input, what it has, and whether that is secret.
func resolve(b *schema.Block, path string) (result cty.Path, s shape, secret bool, err error) {
	s = shapeOfBlock(b)
	for rest := path; rest != ""; {
		m := step.FindStringSubmatch(rest)
		if m == nil {
			return nil, s, secret, fmt.Errorf("field %s is no path: write one such as subnets[0].networkId", path)
		}
		before := strings.TrimSuffix(path, rest)
		rest = rest[len(m[0]):]
		name := m[1] + m[2]
		switch s.form {
		case object:
			f, ok := s.field(func(f field) bool { return f.name == name && f.input })
			if !ok {
				return nil, s, secret, fmt.Errorf("there is no field %s: see kubectl explain", Child(before, name))
			}
			result, s, secret = result.GetAttr(f.attribute), f.shape, secret || f.secret
			continue
		case mapping:
			result = result.IndexString(name)
		case list, set, tuple:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 {
				return nil, s, secret, fmt.Errorf("field %s is a list: write the number of an element in brackets, such as [0]", before)
			}
			result = result.IndexInt(i)
		case scalar:
			return nil, s, secret, fmt.Errorf("field %s has no fields", before)
		default: // of any type
			return result, s, secret, nil
		}
		s = s.element(result[len(result)-1].(cty.IndexStep).Key)
	}
	return result, s, secret, nil
}

// field returns a field of an object.
func (s shape) field(is func(field) bool) (field, bool) {
	if s.form == object {
		for _, f := range s.fields() {
			if is(f) {
				return f, true
			}
		}
	}
	return field{}, false
}

// element returns the shape of what a collection has under a key.
func (s shape) element(key cty.Value) shape {
	if s.item != nil {
		return *s.item
	}
	if s.form == tuple && key.IsKnown() && key.Type() == cty.Number {
		if i, _ := key.AsBigFloat().Int64(); i >= 0 && i < int64(s.cty.Length()) {
			return shapeOfType(s.cty.TupleElementType(int(i)))
		}
	}
	return shape{form: dynamic}
}
