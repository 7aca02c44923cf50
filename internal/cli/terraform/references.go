// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"slices"
	"strings"
)

// referrer returns what finds references of an instance: the only instance it depends on whose id, or attribute that only the provider
// chooses, has the value.
func referrer(of *instance, all []*instance, namespaced bool) func(value string) *reference {
	var others []*instance
	for _, other := range all {
		if other != of && slices.Contains(of.dependencies, other.resource()) {
			others = append(others, other)
		}
	}
	apiVersion, _ := kindOf(of.source.name, of.of.Type, namespaced)
	return func(value string) *reference {
		found := matches(others, func(other *instance) []string {
			if other.id == value {
				return []string{""}
			}
			return nil
		})
		if len(found) == 0 {
			found = matches(others, func(other *instance) (paths []string) { return other.showing(value) })
		}
		if len(found) != 1 {
			return nil
		}
		r := &reference{Name: found[0].other.name, Value: found[0].path}
		r.APIVersion, r.Kind = kindOf(found[0].other.source.name, found[0].other.of.Type, namespaced)
		if r.APIVersion == apiVersion {
			r.APIVersion = ""
		}
		return r
	}
}

type match struct {
	other *instance
	path  string // of the value; empty for the id
}

func matches(others []*instance, paths func(*instance) []string) (all []match) {
	for _, other := range others {
		for _, path := range paths(other) {
			all = append(all, match{other, path})
		}
	}
	return all
}

// showing returns the paths of attributes with a value that only the provider sets: others may be equal by chance.
func (i *instance) showing(value string) (paths []string) {
	for _, a := range i.computed(false) {
		name := fieldName(i.of.Schema.Block, a.Name)
		if text(i.value.GetAttr(a.Name)) == value && !strings.ContainsAny(name, "./[]") {
			paths = append(paths, "status.atProvider."+name)
		}
	}
	return paths
}
