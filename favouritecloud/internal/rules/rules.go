// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules holds what every service of the cloud demands of names, labels, texts and passwords. What breaks a rule is refused
// with a message for people; see package refusal.
package rules

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bowline-dev/bowline/favouritecloud/internal/refusal"
)

const (
	maxLabels          = 64
	maxLabelNameLength = 63
	maxLabelPrefix     = 253
	maxTextLength      = 256
)

// Name refuses what is not an RFC 1035 label of at most 63 characters. what names the thing in the message.
func Name(what, name string) error {
	if !regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`).MatchString(name) {
		return refusal.Invalid("%s %q is not valid: use 1 to 63 lower case letters, digits and hyphens, "+
			"starting with a letter and not ending with a hyphen", what, name)
	}
	return nil
}

// Labels refuses labels that cannot be kept and searched.
func Labels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return refusal.Invalid("labels: %d are too many: at most %d are kept", len(labels), maxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		if problem := labelKeyProblem(key); problem != "" {
			return refusal.Invalid("label key %q is not valid: %s", key, problem)
		}
		if err := Text(fmt.Sprintf("value of label %q", key), labels[key]); err != nil {
			return err
		}
	}
	return nil
}

// labelKeyProblem says what is wrong with a key, which is a name with an optional DNS domain and slash before it, as
// in Kubernetes.
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
		return fmt.Sprintf("use 1 to %d letters, digits, '-', '_' and '.', starting and ending with a letter or digit", maxLabelNameLength)
	}
	return ""
}

// Text refuses what is longer than 256 characters or not printable. what names the text in the message.
func Text(what, text string) error {
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > maxTextLength ||
		strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return refusal.Invalid("%s is not valid: use at most %d printable characters", what, maxTextLength)
	}
	return nil
}

// Password refuses passwords that are short, or that a configuration file or terminal would mangle. Nil is none.
func Password(password *string) error {
	const least, most = 8, 128
	if password == nil {
		return nil
	}
	if n := utf8.RuneCountInString(*password); n < least || n > most || !utf8.ValidString(*password) ||
		strings.ContainsFunc(*password, unicode.IsControl) {
		return refusal.Invalid("password is not valid: use %d to %d characters, none of them a control character", least, most)
	}
	return nil
}

// Matches reports whether an object with the labels have is found by a search for the labels want.
func Matches(have, want map[string]string) bool {
	for key, value := range want {
		if v, ok := have[key]; !ok || v != value {
			return false
		}
	}
	return true
}
