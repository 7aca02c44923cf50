// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/pkg/connection"
)

// Teams write templates, so nothing that they hold may harm: every key is either derived or reported, originals stay, and no
// message has more than one line.
func FuzzDerive(f *testing.F) {
	for _, seed := range []string{
		"", "{", "{\"A\n", `{"A": "$("}`, `{"A": "$(a\nb)"}`, `{"A": "$(password)$$(x)"}`, `{"\n": 1}`,
		`{"a": "x://$(password)@[$(password)]/?$(password)#"}`,
	} {
		f.Add(seed, "s3cret")
	}
	f.Fuzz(func(t *testing.T, templates, password string) {
		original := map[string][]byte{"password": []byte(password)}
		derived, err := connection.Derive(templates, original)
		if _, replaced := derived["password"]; replaced || len(original) != 1 || string(original["password"]) != password {
			t.Errorf("derived %q, originals are %q", derived, original)
		}
		if err != nil && (strings.ContainsAny(err.Error(), "\r\n") || len(err.Error()) > 3000) {
			t.Errorf("message %q", err)
		}
	})
}
