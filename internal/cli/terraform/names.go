// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package terraform

import (
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
)

const longestName = 63 // of objects of Terraform kinds

var (
	noLabel   = regexp.MustCompile(`[^a-z0-9]+`)
	ofModules = regexp.MustCompile(`(^|\.)module\.`)
)

// nameAll gives each instance a name by its address without the type: b-0 in module a becomes a-b-0. One that is too long, or that
// another object of its kind has, ends with a hash.
func nameAll(all []*instance) {
	count := map[string]int{}
	for _, i := range all {
		count[i.of.Type+"/"+i.shortName()]++
	}
	for _, i := range all {
		name := i.shortName()
		if len(name) > longestName || count[i.of.Type+"/"+name] > 1 || name == "" {
			h := fnv.New32a()
			_, _ = h.Write([]byte(i.address)) // never fails
			name = strings.TrimLeft(fmt.Sprintf("%s-%08x", strings.TrimRight(name[:min(len(name), longestName-9)], "-"), h.Sum32()), "-")
		}
		i.name = name
		i.secretName = label(i.of.Type) + "-" + name
	}
}

func (i *instance) shortName() string {
	address := ofModules.ReplaceAllString(i.address, "$1")
	return label(strings.Replace("."+address, "."+i.of.Type+".", ".", 1))
}

// label returns a text as names of objects allow it.
func label(text string) string {
	return strings.Trim(noLabel.ReplaceAllString(strings.ToLower(text), "-"), "-")
}
