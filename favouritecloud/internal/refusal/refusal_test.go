// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package refusal

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	t.Parallel()
	for name, valid := range map[string]bool{
		"a": true, "a1": true, "a-b": true, "orders-2026": true, strings.Repeat("a", 63): true,
		"": false, "1a": false, "-a": false, "a-": false, "A": false, "a_b": false, "a.b": false, "a b": false, "ä": false,
		"a\n": false, "a\x00": false, "..": false, strings.Repeat("a", 64): false,
	} {
		if err := Name("name", name); (err == nil) != valid {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for n := range maxLabels + 1 {
		many[strings.Repeat("a", n+1)] = ""
	}
	cases := map[string]struct {
		labels map[string]string
		want   string // "" is valid
	}{
		"none":           {nil, ""},
		"plain":          {map[string]string{"team": "a", "crossplane-kind": "x.y.z", "A_b.c": ""}, ""},
		"prefix":         {map[string]string{"example.org/a": "b"}, ""},
		"any characters": {map[string]string{"a": "Größe = 1, \"x\" / 日本"}, ""},
		"longest":        {map[string]string{strings.Repeat("a", 63): strings.Repeat("ä", 256)}, ""},
		"empty key":      {map[string]string{"": "b"}, "label key"},
		"empty name":     {map[string]string{"example.org/": "b"}, "label key"},
		"empty prefix":   {map[string]string{"/a": "b"}, "DNS domain"},
		"two slashes":    {map[string]string{"a/b/c": "d"}, "label key"},
		"upper prefix":   {map[string]string{"Example.org/a": "b"}, "DNS domain"},
		"equals in key":  {map[string]string{"a=b": "c"}, "label key"},
		"dash at end":    {map[string]string{"a-": "c"}, "label key"},
		"long key":       {map[string]string{strings.Repeat("a", 64): ""}, "1 to 63"},
		"long prefix":    {map[string]string{strings.Repeat("a", 254) + "/a": ""}, "253"},
		"long value":     {map[string]string{"a": strings.Repeat("a", 257)}, "256 printable"},
		"line end":       {map[string]string{"a": "b\n"}, "printable"},
		"not UTF-8":      {map[string]string{"a": "\xff"}, "printable"},
		"too many":       {many, "too many"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := Labels(tc.labels)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
