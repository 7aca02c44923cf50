// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

const (
	sensitive       = "(sensitive)"
	maxRenderedSize = 128 // characters
)

// render formats a value for a status.
func (r *Rules) render(at path, value any, hidden bool) string {
	value = r.redact(at, value, hidden)
	if value == sensitive {
		return sensitive
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return "(not JSON)"
	}
	characters := []rune(strings.TrimSpace(text.String()))
	if len(characters) > maxRenderedSize {
		characters = append(characters[:maxRenderedSize-1], '…')
	}
	return string(characters)
}

// redact removes sensitive values at any depth.
func (r *Rules) redact(at path, value any, hidden bool) any {
	if hidden || at.in(r.Sensitive) {
		return sensitive
	}
	switch v := value.(type) {
	case map[string]any:
		redacted := make(map[string]any, len(v))
		for name, field := range v {
			redacted[name] = r.redact(at.field(name), field, isSensitive(name, v))
		}
		return redacted
	case []any:
		redacted := make([]any, len(v))
		for i, element := range v {
			redacted[i] = r.redact(at.index(i), element, false)
		}
		return redacted
	case string:
		if at.in(r.JSON) {
			parsed, ok := document(v)
			if !ok {
				return "(not JSON)" // it may contain secrets that cannot be found
			}
			inside := *r
			inside.JSON = nil
			return inside.redact(at, parsed, false)
		}
	}
	return value
}

// isSensitive guesses by its name whether a field of an object holds a secret. In {name: DB_PASSWORD, value: x} the value
// does.
func isSensitive(field string, in map[string]any) bool {
	if strings.EqualFold(field, "value") {
		for _, label := range []string{"name", "key"} {
			if text, ok := in[label].(string); ok && isSensitiveName(text) {
				return true
			}
		}
	}
	return isSensitiveName(field)
}

func isSensitiveName(name string) bool {
	name = plain(name)
	return slices.ContainsFunc(sensitiveWords(), func(word string) bool { return strings.Contains(name, word) })
}

// sensitiveWords err on the side of hiding too much.
func sensitiveWords() []string {
	return []string{
		"password", "passwd", "passphrase", "passcode", "pwd", "secret", "token", "credential", "authorization",
		"keymaterial", "privatekey", "apikey", "accesskey", "accountkey", "encryptionkey", "sharedkey", "signingkey",
		"connectionstring", "kubeconfig",
	}
}
