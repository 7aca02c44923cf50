// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refusal has the errors of services that the API shows to clients, and the rules for names, labels, texts, passwords and
// versions. Every other error is internal and is answered without details.
package refusal

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/bowline-dev/bowline/favouritecloud/internal/host"
	"github.com/bowline-dev/bowline/favouritecloud/sdk"
)

// Error is a refused request.
type Error struct {
	Status     int           // the HTTP status
	Code       string        // one of the codes of package sdk
	Message    string        // shown to users and contains no secret
	RetryAfter time.Duration // how long the client should wait before it retries; 0 if unspecified
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// New refuses a request with a status and a code of package sdk.
func New(status int, code, format string, args ...any) error {
	return &Error{Status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid refuses a request with an invalid field.
func Invalid(format string, args ...any) error {
	return New(http.StatusUnprocessableEntity, sdk.CodeInvalid, format, args...)
}

// NotFound refuses a request for a resource that does not exist.
func NotFound(format string, args ...any) error {
	return New(http.StatusNotFound, sdk.CodeNotFound, format, args...)
}

// Conflict refuses a request that the current state does not allow.
func Conflict(format string, args ...any) error {
	return New(http.StatusConflict, sdk.CodeConflict, format, args...)
}

// Throttled refuses a request that exceeds a rate limit.
func Throttled(wait time.Duration, format string, args ...any) error {
	return &Error{
		Status: http.StatusTooManyRequests, Code: sdk.CodeThrottled, Message: fmt.Sprintf(format, args...), RetryAfter: wait,
	}
}

const (
	maxLabels          = 64
	maxLabelNameLength = 63
	maxLabelPrefix     = 253
	maxTextLength      = 256
)

// Name refuses a name that is not an RFC 1035 label of at most 63 characters. what is its description in the message.
func Name(what, name string) error {
	if !regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`).MatchString(name) {
		return Invalid("%s %q is not valid: use 1 to 63 lower case letters, digits and hyphens, "+
			"starting with a letter and not ending with a hyphen", what, name)
	}
	return nil
}

// Labels refuses labels that cannot be stored and searched.
func Labels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return Invalid("labels: %d are too many: use at most %d", len(labels), maxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problem := labelKeyProblem(key); problem != "" {
			return Invalid("label key %q is not valid: %s", key, problem)
		}
		if err := Text(fmt.Sprintf("value of label %q", key), labels[key]); err != nil {
			return err
		}
	}
	return nil
}

// labelKeyProblem returns the problem of a key, empty for none. As in Kubernetes, a DNS domain and a slash may precede the name.
func labelKeyProblem(key string) string {
	name := key
	if prefix, rest, ok := strings.Cut(key, "/"); ok {
		name = rest
		domain := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
		if len(prefix) > maxLabelPrefix || !domain.MatchString(prefix) {
			return fmt.Sprintf("the part before the slash must be a DNS domain of at most %d characters", maxLabelPrefix)
		}
	}
	if len(name) > maxLabelNameLength || !regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`).MatchString(name) {
		return fmt.Sprintf("use 1 to %d letters, digits, '-', '_' and '.', starting and ending with a letter or digit",
			maxLabelNameLength)
	}
	return ""
}

// Text refuses a text that is longer than 256 characters or not printable. what is its description in the message.
func Text(what, text string) error {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxTextLength ||
		strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Invalid("%s is not valid: use at most %d printable characters", what, maxTextLength)
	}
	return nil
}

// Password refuses passwords that are too short or too long, or that configuration files or terminals would change. Nil is valid.
func Password(password *string) error {
	const least, most = 8, 128
	if password == nil {
		return nil
	}
	if n := utf8.RuneCountInString(*password); n < least || n > most || !utf8.ValidString(*password) ||
		strings.ContainsFunc(*password, unicode.IsControl) {
		return Invalid("password is not valid: use %d to %d characters, none of them a control character", least, most)
	}
	return nil
}

// Version has the rules for the versions of a program.
type Version struct {
	Field, Program         string // Field is the field of the request, Program the name of the program
	Pattern, Form, Example string // Pattern matches well-formed versions. Form and Example describe them in messages.
}

// Validate refuses a version that is not installed. If none is, every well-formed version is valid: the status of the instance
// then names the package to install.
func (v Version) Validate(version string, installed []host.Program) error {
	var versions []string
	for _, p := range installed {
		versions = append(versions, p.Version)
	}
	switch {
	case slices.Contains(versions, version):
		return nil
	case len(versions) > 0:
		return Invalid("%s %q is not available: this cloud has %s %s", v.Field, version, v.Program, strings.Join(versions, ", "))
	case !regexp.MustCompile(v.Pattern).MatchString(version):
		return Invalid("%s %q is not valid: it must be %s of %s such as %q", v.Field, version, v.Form, v.Program, v.Example)
	}
	return nil
}

// Matches reports whether an object with the labels have is a result of a search for the labels want.
func Matches(have, want map[string]string) bool {
	for key, value := range want {
		if v, ok := have[key]; !ok || v != value {
			return false
		}
	}
	return true
}
