// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// labelsMark starts the last line of a comment with labels.
const labelsMark = "bowline: "

// splitComment splits a stored comment into text and labels.
func splitComment(stored string) (text string, labels map[string]string) {
	text, line := "", stored
	if end := strings.LastIndexByte(stored, '\n'); end >= 0 {
		text, line = stored[:end], stored[end+1:]
	}
	pairs, ok := strings.CutPrefix(line, labelsMark)
	if !ok {
		return stored, nil
	}
	labels = map[string]string{}
	for pair := range strings.SplitSeq(pairs, ";") {
		key, value, ok := strings.Cut(pair, "=")
		k, keyErr := url.QueryUnescape(key)
		v, valueErr := url.QueryUnescape(value)
		if !ok || keyErr != nil || valueErr != nil {
			return stored, nil // it only resembles labels
		}
		labels[k] = v
	}
	return text, labels
}

// joinComment is the reverse of splitComment.
func joinComment(text string, labels map[string]string) (string, error) {
	if _, mistaken := splitComment(text); mistaken != nil {
		return "", &Error{Code: codeBadValue, Message: "the last line of a comment must not look like labels",
			Detail: "Lines that begin with \"" + labelsMark + "\" store labels."}
	}
	if len(labels) == 0 {
		return text, nil
	}
	pairs := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, url.QueryEscape(key)+"="+url.QueryEscape(labels[key]))
	}
	line := labelsMark + strings.Join(pairs, ";")
	if text == "" {
		return line, nil
	}
	return text + "\n" + line, nil
}

// A commented object has a comment and labels; nil fields of a desired one are unchanged.
type commented interface {
	comments() (text **string, labels *map[string]string)
}

// commentCommands returns the commands that change the comment of an object, given as SQL.
func commentCommands(object *command, have, want commented) []*command {
	haveText, haveLabels := have.comments()
	wantText, wantLabels := want.comments()
	text, labels := "", *haveLabels
	if *haveText != nil {
		text = **haveText
	}
	stored, _ := joinComment(text, labels) // fails for a comment that was not written by this package
	if *wantText != nil {
		text = **wantText
	}
	if *wantLabels != nil {
		labels = *wantLabels
	}
	wanted, err := joinComment(text, labels)
	if err != nil {
		return []*command{{err: err}}
	}
	if wanted == stored {
		return nil
	}
	return []*command{statement("COMMENT ON").add(object).sql("IS").value(wanted)}
}
