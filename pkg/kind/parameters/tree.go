// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Tree returns the tree of a struct, or of a pointer to one, through its JSON form. It returns nil for nil, and a
// tree unchanged. It fails for a value that has no JSON form or is not an object.
func Tree(typed any) (map[string]any, error) {
	if tree, ok := typed.(map[string]any); ok {
		return tree, nil
	}
	data, err := json.Marshal(typed)
	if err != nil {
		return nil, fmt.Errorf("converting parameters to JSON: %w", err)
	}
	var tree map[string]any
	if err := utiljson.Unmarshal(data, &tree); err != nil { // it keeps integers beyond 2^53
		return nil, fmt.Errorf("reading parameters of type %T as a JSON object: %w", typed, err)
	}
	return tree, nil
}

// Typed is the reverse of Tree.
func Typed[P any](tree map[string]any) (p P, err error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return p, fmt.Errorf("converting parameters to JSON: %w", err)
	}
	if err := utiljson.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("converting parameters to %T: %w", p, err)
	}
	return p, nil
}

// trees converts the arguments of LateInitialize and Compare to those of Fill and Differences.
func trees(spec, observed any, options []Option) (s *settings, ours, theirs map[string]any, err error) {
	s = newSettings(options)
	initial, errInitial := Tree(s.initial)
	s.initial = initial
	ours, errOurs := Tree(spec)
	theirs, errTheirs := Tree(observed)
	return s, ours, theirs, errors.Join(errInitial, errOurs, errTheirs)
}

// A path addresses one field of a tree.
type path struct {
	exact   string // scalingConfig[0].maxSize
	general string // scalingConfig.maxSize: of every element
}

// field appends a field. The name may be the key of a map, such as app.kubernetes.io/name, hence the brackets.
func (p path) field(name string) path {
	switch {
	case strings.ContainsAny(name, "./[]"):
		name = "[" + name + "]"
	case p.exact != "":
		name = "." + name
	}
	return path{p.exact + name, p.general + name}
}

func (p path) index(i int) path {
	return path{p.exact + "[" + strconv.Itoa(i) + "]", p.general}
}

// paths is a set of paths as options name them.
type paths map[string]bool

func (s paths) add(names []string) {
	for _, name := range names {
		s[strings.ReplaceAll(name, "[*]", "")] = true
	}
}

func (s paths) has(p path) bool {
	return len(s) > 0 && (s[p.exact] || s[p.general])
}

// isEmpty is true for values that late initialization may fill (R155). false and 0 are not empty.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return false
}

// areObjects is true for a list of objects. Such lists are merged and compared by element (R141), any other list as one value.
func areObjects(list []any) bool {
	return len(list) > 0 && !slices.ContainsFunc(list, func(element any) bool { _, ok := element.(map[string]any); return !ok })
}

// object returns nil if the value is not an object.
func object(value any) map[string]any {
	o, _ := value.(map[string]any)
	return o
}

// list returns nil if the value is not a list.
func list(value any) []any {
	l, _ := value.([]any)
	return l
}

// element returns nil beyond the end of the list.
func element(of []any, i int) any {
	if i < len(of) {
		return of[i]
	}
	return nil
}

func names(object map[string]any) []string {
	return slices.Sorted(maps.Keys(object))
}

// plain normalizes a name: api-key, api_key and apiKey are the same.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' {
			return -1
		}
		return unicode.ToLower(r)
	}, name)
}

func clone[V any](value V) V {
	c, _ := cloneValue(value).(V)
	return c
}

func cloneValue(value any) any {
	switch v := value.(type) {
	case map[string]any:
		c := maps.Clone(v)
		for name, field := range c {
			c[name] = cloneValue(field)
		}
		return c
	case []any:
		c := slices.Clone(v)
		for i := range c {
			c[i] = cloneValue(c[i])
		}
		return c
	}
	return value
}
