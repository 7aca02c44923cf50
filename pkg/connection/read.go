// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/json"
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
	written, twice, err := decode(templates)
	if err != nil {
		return nil, problems{err.Error()}
	}
	if len(written) > MaxKeys {
		return nil, problems{fmt.Sprintf("it has %d keys, at most %d are possible", len(written), MaxKeys)}
	}
	for _, key := range slices.Sorted(maps.Keys(written)) {
		parts, err := readEntry(key, written[key])
		if twice.Has(key) {
			err = errors.New("it is there twice: remove one")
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("key %s: %v", quote(key), err))
			continue
		}
		entries = append(entries, entry{key: key, parts: parts})
	}
	return entries, wrong
}

func readEntry(key string, value any) ([]part, error) {
	if invalid := validation.IsConfigMapKey(key); len(invalid) > 0 {
		return nil, errors.New("a key of a Secret consists of up to 253 letters, digits, dashes, dots and underscores")
	}
	template, ok := value.(string)
	if !ok {
		return nil, errors.New("its template is no text: put it in double quotes")
	}
	parts, err := parse(template)
	if err != nil {
		return nil, err
	}
	locate(parts)
	return parts, nil
}

// decode reads a JSON object, and which of its keys are there twice.
func decode(templates string) (written map[string]any, twice sets.Set[string], err error) {
	const example = `{"DATABASE_URL": "postgresql://$(username):$(password)@$(endpoint):$(port)/postgres"}`
	strict, err := json.UnmarshalStrict([]byte(templates), &written, json.DisallowDuplicateFields)
	if syntax, _ := json.SyntaxErrorOffset(err); err != nil && !syntax || err == nil && written == nil {
		err = errors.New("it does not begin with a brace")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("it is no JSON object such as %s: %w", example, err)
	}
	twice = sets.New[string]()
	for _, err := range strict {
		if duplicate, ok := errors.AsType[json.FieldError](err); ok {
			twice.Insert(duplicate.FieldPath())
		}
	}
	return written, twice, nil
}

// token is what stands for something else in a template.
var token = regexp.MustCompile(`\$\$|\$\([^)]*\)?`)

// parse splits a template into text and keys.
func parse(template string) (parts []part, err error) {
	text, last := "", 0
	for _, at := range token.FindAllStringIndex(template, -1) {
		text += template[last:at[0]]
		last = at[1]
		found := template[at[0]:at[1]]
		key, closed := strings.CutSuffix(strings.TrimPrefix(found, "$("), ")")
		switch {
		case found == "$$":
			text += "$"
			continue
		case !closed:
			return nil, errors.New("$( has no closing parenthesis: write $(name), or $$( for the characters themselves")
		case len(validation.IsConfigMapKey(key)) > 0:
			return nil, fmt.Errorf("%s names no connection key: write $(name), or $$( for the characters themselves", quote(found))
		}
		parts = append(parts, part{text: text}, part{key: key})
		text = ""
	}
	return append(parts, part{text: text + template[last:]}), nil
}
