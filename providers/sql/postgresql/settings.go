// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// parseSettings reads what PostgreSQL stores of ALTER ROLE … SET and ALTER DATABASE … SET.
func parseSettings(stored []string) map[string]string {
	settings := make(map[string]string, len(stored))
	for _, s := range stored {
		name, value, _ := strings.Cut(s, "=")
		settings[name] = value
	}
	return settings
}

// settingCommands returns what turns the settings of an object, say ROLE "x", into the wanted ones; nil wants nothing.
// What is not wanted any more is reset.
func settingCommands(have, want map[string]string, object *command) []*command {
	if want == nil {
		return nil
	}
	alter := func() *command {
		c := say("ALTER").say(object.text.String())
		c.err = object.err
		return c
	}
	var commands []*command
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value, ok := have[name]; !ok || value != want[name] {
			c := alter().say("SET").name(strings.Split(name, ".")...).say("TO")
			commands = append(commands, settingValue(c, name, want[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[name]; !ok {
			commands = append(commands, alter().say("RESET").name(strings.Split(name, ".")...))
		}
	}
	return commands
}

// settingValue adds the value of a setting. Those few that are lists of names are stored with each name quoted where it
// has to be, and so they are read back; quoting all as one text would make one name of them.
func settingValue(c *command, name, value string) *command {
	switch strings.ToLower(name) {
	case "search_path", "temp_tablespaces", "session_preload_libraries", "local_preload_libraries":
	default:
		return c.value(value)
	}
	for i, element := range splitNames(value) {
		if i > 0 {
			c.say(",")
		}
		c.value(element)
	}
	return c
}

// splitNames takes a list such as `"$user", public` apart.
func splitNames(list string) []string {
	var names []string
	var name strings.Builder
	var before rune
	quoted := false
	for _, r := range list {
		switch {
		case r == '"':
			if !quoted && before == '"' { // A doubled quote within quotes is one of the name.
				name.WriteRune(r)
			}
			quoted = !quoted
		case quoted:
			name.WriteRune(r)
		case r == ',':
			names = append(names, name.String())
			name.Reset()
		case !unicode.IsSpace(r):
			name.WriteRune(r)
		}
		before = r
	}
	return append(names, name.String())
}
