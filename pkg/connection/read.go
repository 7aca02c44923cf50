// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// An entry is one key with its template.
type entry struct {
	key   string
	parts []part
}

// A part of a template is text, or stands for the value of a key.
type part struct {
	text string
	key  string
	as   place
}

// read returns the keys that can be derived, sorted, and what is wrong with the others.
func read(templates string) (entries []entry, wrong problems) {
	written, err := decode(templates)
	if err != nil {
		return nil, problems{err.Error()}
	}
	if len(written) > MaxKeys {
		return nil, problems{fmt.Sprintf("it has %d keys, at most %d are possible", len(written), MaxKeys)}
	}
	seen := map[string]bool{}
	for _, w := range written {
		e, err := w.read()
		if err == nil && seen[w.key] {
			err = errors.New("it is there twice: remove one")
			entries = slices.DeleteFunc(entries, func(e entry) bool { return e.key == w.key })
		}
		seen[w.key] = true
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("key %s: %v", quote(w.key), err))
			continue
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	return entries, wrong
}

// written is one key with its template as the annotation has it.
type written struct {
	key      string
	template any
}

func (w written) read() (entry, error) {
	if invalid := validation.IsConfigMapKey(w.key); len(invalid) > 0 {
		return entry{}, errors.New("a key of a Secret is made of up to 253 letters, digits, dashes, dots and underscores")
	}
	template, ok := w.template.(string)
	if !ok {
		return entry{}, errors.New("its template is no text: put it in double quotes")
	}
	parts, err := parse(template)
	if err != nil {
		return entry{}, err
	}
	locate(parts)
	return entry{key: w.key, parts: parts}, nil
}

// decode reads a JSON object as it is written, also where it has a key twice.
func decode(templates string) ([]written, error) {
	const example = `{"DATABASE_URL": "postgresql://$(username):$(password)@$(endpoint):$(port)/postgres"}`
	notJSON := func(err error) error {
		return fmt.Errorf("it is no JSON object such as %s: %w", example, err)
	}
	d := json.NewDecoder(strings.NewReader(templates))
	start, err := d.Token()
	switch {
	case errors.Is(err, io.EOF):
		return nil, notJSON(errors.New("it is empty"))
	case err != nil:
		return nil, notJSON(err)
	case start != json.Delim('{'):
		return nil, notJSON(errors.New("it does not begin with a brace"))
	}
	var all []written
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, notJSON(err)
		}
		w := written{key: key.(string)} // a decoder lets nothing else be a key
		if err := d.Decode(&w.template); err != nil {
			return nil, notJSON(err)
		}
		all = append(all, w)
	}
	if _, err := d.Token(); err != nil {
		return nil, notJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, notJSON(errors.New("something follows its last brace"))
	}
	return all, nil
}

// parse takes a template apart.
func parse(template string) (parts []part, err error) {
	var text strings.Builder
	rest := template
	for {
		before, after, found := strings.Cut(rest, "$")
		text.WriteString(before)
		switch {
		case !found:
			return append(parts, part{text: text.String()}), nil
		case strings.HasPrefix(after, "$"):
			text.WriteByte('$')
			rest = after[1:]
		case strings.HasPrefix(after, "("):
			key, next, closed := strings.Cut(after[1:], ")")
			if !closed {
				return nil, errors.New("$( has no closing parenthesis: write $(name), or $$( for the characters themselves")
			}
			if invalid := validation.IsConfigMapKey(key); len(invalid) > 0 {
				return nil, fmt.Errorf("%s names no connection key: write $(name), or $$( for the characters themselves", quote("$("+key+")"))
			}
			parts = append(parts, part{text: text.String()}, part{key: key})
			text.Reset()
			rest = next
		default:
			text.WriteByte('$')
			rest = after
		}
	}
}
