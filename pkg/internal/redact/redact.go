// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact keeps secrets out of text: errors, conditions, events, logs and spans.
//
// Secrets are found as they are and in their usual spellings: quoted by Go (%q, %+q) or in JSON, with doubled quotes as in
// SQL, escaped for a URL's user, path or query, or in base64 with either alphabet, padded or not; also in one of these within another,
// such as JSON in JSON. One of at least twelve bytes is found in base64 of a text that contains it, too, such as a user and its password. Of a
// secret with several lines each one is looked for as it is, unless it is short. Other spellings, such as hexadecimal,
// other parts of a secret and hashes are not found.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// Lengths in bytes. Shorter secrets would hide ordinary words.
const (
	shortestSecret = 4  // that is looked for
	shortestDetail = 8  // of a connection detail that may not be a secret
	shortestInWord = 12 // that is looked for within words
	shortestLine   = 16 // of a secret with several, such as a key in PEM, that is looked for by itself
)

// Hidden replaces a secret.
const Hidden = "(sensitive)"

// Lengths in bytes of the text of an error. What is added to one that was shortened has room.
const (
	longestText = 4096 // longer ones are shortened to about 3.5 KiB
	keptBegin   = 2560
	keptEnd     = 896 // which may have what to do

	leftOut = " ... (the middle of this long message is left out) ... "
)

// redacted is an error without the secrets in its text.
type redacted struct {
	text  string
	cause error
}

func (e redacted) Error() string { return e.text }

func (e redacted) Unwrap() error { return e.cause }

// Error returns the error without the secrets in its text. Secrets shorter than four bytes are not looked for. Of a text of more than
// 4 KiB the middle is left out, but not before: half of a secret would not be found. The chain of the error stays. Nil stays nil.
func Error(err error, secrets ...[]byte) error {
	if err == nil {
		return nil
	}
	before, ok := textOf(err)
	text := shortened(Text(before, secrets))
	if ok && text == before {
		return err
	}
	return redacted{text: text, cause: err}
}

func shortened(text string) string {
	if len(text) <= longestText {
		return text
	}
	return strings.ToValidUTF8(text[:keptBegin], "") + leftOut + strings.ToValidUTF8(text[len(text)-keptEnd:], "")
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

// Text returns text without the secrets; of those shorter than twelve bytes only whole words are found. The longest are replaced first,
// so that nothing is left of a secret that contains another.
func Text(text string, secrets [][]byte) string {
	if text == "" {
		return ""
	}
	for _, spelling := range spelled(secrets, len(text)) {
		if len(spelling) >= shortestInWord {
			text = strings.ReplaceAll(text, spelling, Hidden)
		} else {
			text = replaceWord(text, spelling)
		}
	}
	return text
}

// replaceWord replaces a short secret where it is not a part of a word.
func replaceWord(text, secret string) string {
	var safe strings.Builder
	for begin := 0; ; {
		at := strings.Index(text[begin:], secret)
		if at < 0 {
			safe.WriteString(text[begin:])
			return safe.String()
		}
		at += begin
		first, _ := utf8.DecodeRuneInString(secret)
		last, _ := utf8.DecodeLastRuneInString(secret)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(secret):])
		inWord := inWord(before) && inWord(first) && !escape.MatchString(text[:at]) || inWord(last) && inWord(after)
		if inWord {
			safe.WriteString(text[begin : at+1])
			begin = at + 1
			continue
		}
		safe.WriteString(text[begin:at] + Hidden)
		begin = at + len(secret)
	}
}

// escape is an escaped character whose last letter is no part of the word that follows.
var escape = regexp.MustCompile(`(\\[abfnrtv]|\\x[0-9a-f]{2}|\\u[0-9a-f]{4}|%[0-9A-F]{2})$`)

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// spelled returns the spellings of all secrets that are looked for, the longest first. Those above most bytes are left out, at once: a
// Secret may hold a megabyte, and its spellings a hundred.
func spelled(secrets [][]byte, most int) []string {
	found := map[string]struct{}{}
	for _, secret := range secrets {
		secret = bytes.TrimSpace(secret)
		for line := range bytes.Lines(secret) {
			if line = bytes.TrimSpace(line); len(line) >= shortestLine && len(line) < len(secret) && len(line) <= most {
				found[string(line)] = struct{}{}
			}
		}
		if len(secret) < shortestSecret || len(secret) > most {
			continue
		}
		if len(secret) >= shortestInWord {
			for _, part := range within(secret) {
				if len(part) <= most {
					found[part] = struct{}{}
				}
			}
		}
		for _, once := range spellings(string(secret)) {
			if len(once) > most {
				continue
			}
			for _, twice := range spellings(once) {
				if len(twice) <= most {
					found[twice] = struct{}{}
				}
			}
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
}

// spellings of a secret, none of which is shorter than the secret itself.
func spellings(secret string) []string {
	quoted, ascii := strconv.Quote(secret), strconv.QuoteToASCII(secret)
	user := url.UserPassword("", secret).String()
	doubled := strings.ReplaceAll(secret, "'", "''")
	all := []string{
		secret, quoted[1 : len(quoted)-1], ascii[1 : len(ascii)-1], url.QueryEscape(secret), url.PathEscape(secret), user[1:],
		doubled, strings.ReplaceAll(doubled, `\`, `\\`), strings.ReplaceAll(secret, `"`, `""`),
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

// within returns what base64 makes of a secret within a longer text, as of a password after its user, without the characters at its ends that
// depend on the rest.
func within(secret []byte) (all []string) {
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
		first, last := (before*8+5)/6, len(text)
		if (before+len(secret))%3 != 0 {
			last--
		}
		text = text[first:last]
		all = append(all, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
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
	longest := 0
	for _, spelling := range spelled(beginnings(secrets, len(shown)), math.MaxInt) {
		for n := min(len(spelling), len(shown)); n >= max(shortestSecret, longest+1); n-- {
			if strings.HasSuffix(shown, spelling[:n]) {
				longest = n
			}
		}
	}
	if longest == 0 {
		return text
	}
	return shown[:len(shown)-longest] + Hidden + "…"
}

// beginnings cuts long secrets so that the first n bytes of each spelling stay as they are: base64 in base64 spells nine bytes at a time,
// and the nine after them may be a part of a character.
func beginnings(secrets [][]byte, n int) [][]byte {
	cut := make([][]byte, len(secrets))
	for i, secret := range secrets {
		secret = bytes.TrimSpace(secret)
		cut[i] = secret[:min(len(secret), (n/9+2)*9)]
	}
	return cut
}

// Details returns the values of a Secret, or of connection details, that may be secrets: not those that people need to understand an
// error, such as the endpoint and the name of the user, whatever the key that repeats them, nor short ones that are no credentials by
// their key. Text finds short values as whole words only.
func Details(details map[string][]byte) [][]byte {
	var secrets, public [][]byte
	for key, value := range details {
		if publicKey.MatchString(key) {
			public = append(public, value)
		}
	}
	for key, value := range details {
		least := shortestDetail
		if credentialKey.MatchString(key) || abbreviatedKey.MatchString(key) && !ordinary.Match(value) {
			least = shortestSecret
		}
		isPublic := slices.ContainsFunc(public, func(p []byte) bool { return bytes.Equal(p, value) })
		if len(value) >= least && !publicKey.MatchString(key) && (!isPublic || credentialKey.MatchString(key)) {
			secrets = append(secrets, value)
		}
	}
	return secrets
}

// Keys of connection details, in any case and spelling.
var (
	publicKey = regexp.MustCompile(
		`(?i)^(endpoint|host|hostname|address|port|user|user-?name|db|dbname|database|project(-?id)?|region|schema|ssl-?mode)$`)
	credentialKey = regexp.MustCompile(`(?i)password|passwd|passphrase|token|secret|credential|private|api-?key`)
	// abbreviatedKey has these as words: DB_PASS, adminPin and pgpwd, not compass or pinned.
	abbreviatedKey = regexp.MustCompile(`(?i:pwd)|(^|[^A-Za-z])(?i:pass|pin|pw|psk|otp)([^A-Za-z]|$)|[a-z](Pass|Pin|Pw|Psk|Otp)([^a-z]|$)`)
	// ordinary values would be hidden all over a message, and are settings.
	ordinary = regexp.MustCompile(`(?i)^(true|false|none|null)$`)
)
