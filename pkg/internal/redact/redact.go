// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact keeps secrets out of text: errors, conditions, events, logs and spans.
//
// Secrets are found as they are and in their usual spellings: quoted by Go (%q, %+q) or in JSON, with doubled quotes as in
// SQL, escaped for a URL's user, path or query, or in base64 with either alphabet, padded or not. Other spellings, such as
// hexadecimal, parts of a secret and hashes are not found.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// Lengths in bytes from which secrets are looked for: shorter ones would hide ordinary words. Not every connection detail is
// a secret.
const (
	shortestSecret = 4
	shortestDetail = 8
)

// hidden replaces a secret.
const hidden = "(sensitive)"

// redacted is an error without the secrets in its text.
type redacted struct {
	text  string
	cause error
}

func (e redacted) Error() string { return e.text }

func (e redacted) Unwrap() error { return e.cause }

// Error returns the error without the secrets in its text. Secrets shorter than four bytes are not looked for. The chain of
// the error stays. Nil stays nil.
func Error(err error, secrets ...[]byte) error {
	if err == nil {
		return nil
	}
	before, ok := textOf(err)
	text := Text(before, secrets)
	if ok && text == before {
		return err
	}
	return redacted{text: text, cause: err}
}

// textOf returns the text of an error; of one whose method Error panics, such as a nil pointer in an error, only its type.
func textOf(err error) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = fmt.Sprintf("an error of type %T whose method Error panics, which is a bug in the provider", err), false
		}
	}()
	return err.Error(), true
}

// Text returns text without the secrets. The longest are replaced first, so that nothing is left of a secret that contains
// another.
func Text(text string, secrets [][]byte) string {
	if text == "" {
		return ""
	}
	for _, spelling := range spelled(secrets) {
		text = strings.ReplaceAll(text, spelling, hidden)
	}
	return text
}

// spelled returns the spellings of all secrets that are looked for, the longest first.
func spelled(secrets [][]byte) []string {
	var all []string
	for _, secret := range secrets {
		if secret = bytes.TrimSpace(secret); len(secret) >= shortestSecret {
			all = append(all, spellings(string(secret))...)
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	return all
}

// spellings of a secret, none of which is shorter than the secret itself.
func spellings(secret string) []string {
	quoted, ascii := strconv.Quote(secret), strconv.QuoteToASCII(secret)
	user := url.UserPassword("", secret).String()
	all := []string{
		secret, quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1], url.QueryEscape(secret), url.PathEscape(secret), user[1:],
		strings.ReplaceAll(secret, "'", "''"), strings.ReplaceAll(secret, `"`, `""`),
		base64.RawStdEncoding.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret)),
		base64.RawURLEncoding.EncodeToString([]byte(secret)), base64.URLEncoding.EncodeToString([]byte(secret)),
	}
	for _, escape := range []bool{true, false} { // <, > and &
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(escape)
		if err := encoder.Encode(secret); err == nil { // a string always encodes
			all = append(all, text.String()[1:text.Len()-2])
		}
	}
	return all
}

// Fields returns differences without the secrets, also where a value that was too long to show ends within one.
func Fields(fields []xpv1.FieldDifference, secrets [][]byte) []xpv1.FieldDifference {
	safe := slices.Clone(fields)
	for i, f := range fields {
		safe[i].Path = Text(f.Path, secrets)
		safe[i].Desired = end(Text(f.Desired, secrets), secrets)
		safe[i].Observed = end(Text(f.Observed, secrets), secrets)
	}
	return safe
}

// end replaces the beginning of a secret at the end of a text that was cut off.
func end(text string, secrets [][]byte) string {
	shown, cut := strings.CutSuffix(text, "…")
	if !cut {
		return text
	}
	for _, spelling := range spelled(secrets) {
		for n := min(len(spelling), len(shown)); n >= shortestSecret; n-- {
			if rest, ends := strings.CutSuffix(shown, spelling[:n]); ends {
				return rest + hidden + "…"
			}
		}
	}
	return text
}

// Details returns the connection details that may be secrets: all but those that people need to understand an error, such as
// the endpoint.
func Details(details map[string][]byte) [][]byte {
	var secrets [][]byte
	for key, value := range details {
		switch key {
		case xpv1.ResourceCredentialsSecretEndpointKey, xpv1.ResourceCredentialsSecretPortKey,
			xpv1.ResourceCredentialsSecretUserKey, xpv1.ResourceCredentialsSecretDatabaseKey:
			continue
		}
		if len(value) >= shortestDetail {
			secrets = append(secrets, value)
		}
	}
	return secrets
}
