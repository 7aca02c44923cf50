// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package managed

import "strings"

// shortestSecret is the length from which a secret input is looked for in errors: shorter ones would hide ordinary words.
const shortestSecret = 4

// redactedError is an error without the secrets in its text.
type redactedError struct {
	text  string
	cause error
}

func (e redactedError) Error() string { return e.text }

func (e redactedError) Unwrap() error { return e.cause }

// redact keeps the values of secret inputs out of what the external system says about them, so that they reach neither
// conditions nor events nor logs (R234).
func (s *secretInputs) redact(err error) error {
	if err == nil || s == nil {
		return err
	}
	text := err.Error()
	for _, value := range s.values {
		if len(value) >= shortestSecret {
			text = strings.ReplaceAll(text, string(value), "(sensitive)")
		}
	}
	if text == err.Error() {
		return err
	}
	return redactedError{text: text, cause: err}
}
