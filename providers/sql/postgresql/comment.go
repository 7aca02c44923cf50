// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// labelsMark begins the last line of a comment that holds labels.
const labelsMark = "bowline: "

// splitComment takes what PostgreSQL stores as a comment apart into what people wrote and the labels below.
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
			return stored, nil // It only looks like ours.
		}
		labels[k] = v
	}
	return text, labels
}

// joinComment is the reverse of splitComment.
func joinComment(text string, labels map[string]string) (string, error) {
	if _, mistaken := splitComment(text); mistaken != nil {
		return "", &Error{Code: codeBadValue, Message: "the last line of a comment must not look like labels",
			Detail: "Lines that begin with \"" + labelsMark + "\" are how labels are kept."}
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

// A remark is what is wanted of a comment and its labels; nil is what is there.
type remark struct {
	comment *string
	labels  map[string]string
}

// commands returns what turns the stored comment of an object, say DATABASE "x", into the wanted one.
func (r remark) commands(stored string, object *command) []*command {
	text, labels := splitComment(stored)
	if r.comment != nil {
		text = *r.comment
	}
	if r.labels != nil {
		labels = r.labels
	}
	wanted, err := joinComment(text, labels)
	if err != nil {
		return []*command{{err: err}}
	}
	if wanted == stored {
		return nil
	}
	c := say("COMMENT ON").say(object.text.String()).say("IS").value(wanted)
	if object.err != nil {
		c.err = object.err
	}
	return []*command{c}
}
