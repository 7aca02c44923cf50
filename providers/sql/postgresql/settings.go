// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package postgresql

import (
	"fmt"
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
	wanted := map[string]bool{}
	present := SpellSettings(have, want)
	for _, name := range slices.Sorted(maps.Keys(want)) {
		twice := wanted[strings.ToLower(name)]
		if value, ok := present[name]; twice || !ok || value != want[name] {
			c := alter().say("SET").name(strings.Split(name, ".")...).say("TO")
			if twice {
				c.err = &Error{Code: codeBadName, Message: fmt.Sprintf("setting %q is given twice", name),
					Detail: "Upper and lower case are the same: leave one out."}
			}
			commands = append(commands, settingValue(c, name, want[name]))
		}
		wanted[strings.ToLower(name)] = true
	}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if !wanted[strings.ToLower(name)] {
			commands = append(commands, alter().say("RESET").name(strings.Split(name, ".")...))
		}
	}
	return commands
}

// SpellSettings returns the settings that an object has with the names and values that want uses for the same: PostgreSQL
// stores work_mem of Work_Mem, and "a, b" of a search_path that is set to "a,b".
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

// settingValue adds the value of a setting. Those few that are lists of names are stored with each name quoted where it
// has to be, and so they are read back; quoting all as one text would make one name of them.
func settingValue(c *command, name, value string) *command {
	if !listsNames(name) {
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

// listsNames is true for settings whose values are lists of names.
func listsNames(setting string) bool {
	switch strings.ToLower(setting) {
	case "search_path", "temp_tablespaces", "session_preload_libraries", "local_preload_libraries":
		return true
	}
	return false
}

// splitNames takes a list such as `"$user", public` apart. As everywhere in SQL, names without quotes are in lower case.
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
		case 'A' <= r && r <= 'Z':
			name.WriteRune(r - 'A' + 'a')
		case !unicode.IsSpace(r):
			name.WriteRune(r)
		}
		before = r
	}
	return append(names, name.String())
}
