// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package kinds

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/bowline-dev/bowline/pkg/terraform/schema"
)

var placeholder = regexp.MustCompile(`\{([^{}]*)\}`)

// A Template is a text with inputs in braces, such as {database}/{name}.
type Template struct{ text string }

// NewTemplate returns a template of inputs of a block: texts, numbers and bools, and no secrets.
func NewTemplate(b *schema.Block, text string) (*Template, error) {
	for _, field := range placeholder.FindAllStringSubmatch(text, -1) {
		_, s, secret, err := resolve(b, field[1])
		switch {
		case err != nil:
			return nil, err
		case secret:
			return nil, fmt.Errorf("field %s is a secret: name others", field[1])
		case s.form != scalar:
			return nil, fmt.Errorf("field %s is neither a text nor a number: name one that is", field[1])
		}
	}
	return &Template{text}, nil
}

// Text returns the text for what an object declares. It is false if an input is not set.
func (t *Template) Text(declared map[string]any) (text string, ok bool) {
	ok = true
	text = placeholder.ReplaceAllStringFunc(t.text, func(field string) string {
		value := declaredText(declared, field[1:len(field)-1])
		ok = ok && value != ""
		return value
	})
	return text, ok
}

// declaredText returns a scalar at a path as text: empty for none.
func declaredText(at any, path string) string {
	for rest := path; rest != ""; {
		m := step.FindStringSubmatch(rest)
		if m == nil {
			return ""
		}
		rest = rest[len(m[0]):]
		switch in := at.(type) {
		case map[string]any:
			at = in[m[1]+m[2]]
		case []any:
			i, err := strconv.Atoi(m[1] + m[2])
			if err != nil || i < 0 || i >= len(in) {
				return ""
			}
			at = in[i]
		default:
			return ""
		}
	}
	switch v := at.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}
