// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// settingsFrom is the SQL of the settings of a role or database as JSON; from selects the stored ones as s.
func settingsFrom(from string) string {
	return "(SELECT coalesce(jsonb_object_agg(split_part(s, '=', 1), substr(s, strpos(s, '=') + 1)), '{}') FROM " + from + ")"
}

// settingCommands leaves settings alone that want does not name: the owner of a database may have set them, and a role its own.
func settingCommands(have, want map[string]string, object *command) []*command {
	alter := func() *command { return statement("ALTER").add(object) }
	var commands []*command
	wanted := map[string]bool{}
	present := SpellSettings(have, want)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		twice := wanted[strings.ToLower(name)]
		if value, ok := present[name]; twice || !ok || value != want[name] {
			c := alter().sql("SET").name(strings.Split(name, ".")...).sql("TO")
			if twice {
				c.err = &Error{Code: codeBadName, Message: fmt.Sprintf("setting %q occurs twice", name),
					Detail: "Names are case-insensitive: remove one."}
			}
			commands = append(commands, settingValue(c, name, want[name]))
		}
		wanted[strings.ToLower(name)] = true
	}
	return commands
}

// SpellSettings returns the settings of an object in the spelling of want: PostgreSQL stores Work_Mem as work_mem, and a
// search_path "a,b" as "a, b".
func SpellSettings(have, want map[string]string) map[string]string {
	names := make(map[string]string, len(want))
	for _, name := range slices.Sorted(maps.Keys(want)) {
		names[strings.ToLower(name)] = name
	}
	spelled := make(map[string]string, len(have))
	for name, value := range have {
		if as, ok := names[strings.ToLower(name)]; ok {
			if listsNames(name) && slices.Equal(splitNames(value), splitNames(want[as])) {
				value = want[as]
			}
			name = as
		}
		spelled[name] = value
	}
	return spelled
}

// settingValue adds the value of a setting. In lists of names each name is quoted by itself.
func settingValue(c *command, name, value string) *command {
	if !listsNames(name) {
		return c.value(value)
	}
	for i, element := range splitNames(value) {
		if i > 0 {
			c.sql(",")
		}
		c.value(element)
	}
	return c
}

func listsNames(setting string) bool {
	switch strings.ToLower(setting) {
	case "search_path", "temp_tablespaces", "session_preload_libraries", "local_preload_libraries":
		return true
	}
	return false
}

// splitNames splits a list such as `"$user", public`. Names without quotes are folded to lower case.
func splitNames(list string) []string {
	var names []string
	var name strings.Builder
	var before rune
	quoted := false
	for _, r := range list {
		switch {
		case r == '"':
			if !quoted && before == '"' { // a doubled quote within quotes is part of the name
				name.WriteRune(r)
			}
			quoted = !quoted
		case quoted:
			name.WriteRune(r)
		case r == ',':
			names = append(names, name.String())
			name.Reset()
		case 'A' <= r && r <= 'Z':
			name.WriteRune(r - 'A' + 'a')
		case !unicode.IsSpace(r):
			name.WriteRune(r)
		}
		before = r
	}
	return append(names, name.String())
}

// labelsMark starts the last line of a comment with labels.
const labelsMark = "bowline: "

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

func joinComment(text string, labels map[string]string) (string, error) {
	if _, mistaken := splitComment(text); mistaken != nil {
		return "", &Error{Code: CodeBadValue, Message: "the last line of a comment must not look like labels",
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
