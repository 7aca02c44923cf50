// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// A size counts the lines that people maintain, without generated files.
type size struct{ code, tests int }

func (s size) plus(o size) size { return size{s.code + o.code, s.tests + o.tests} }

// Limits in lines. Lower those of the repository and the rooms when they shrink; a change that needs more raises them, with the
// reason in its commit message.
const (
	mostCode       = 97_230
	mostTests      = 80_430
	mostPackage    = 1500  // of code
	mostManaged    = 5_910 // of code in pkg/reconciler/managed and the packages that nothing else imports
	mostSecretRoad = 1525  // of code that publishes and copies connection Secrets
)

// largePackages lists the packages with more code than mostPackage, with the reason that they are one package.
func largePackages() map[string]string {
	return map[string]string{
		"pkg/provider":                       "one vocabulary for what a provider is, and its setup",
		"pkg/reconciler/managed":             "one lifecycle, one file for each step",
		"pkg/reconciler/applicationresource": "one lifecycle, one file for each step",
		"pkg/terraform/external":             "one client of managed resources, one file for each step",
		"providers/sql/postgresql":           "one client of PostgreSQL for all kinds",
	}
}

// sizes returns the size of every package, by folder.
func sizes(t tree) map[string]size {
	found := map[string]size{}
	for _, f := range t.handwritten() {
		if f.isTest() {
			found[f.dir()] = found[f.dir()].plus(size{tests: f.lines()})
		} else {
			found[f.dir()] = found[f.dir()].plus(size{code: f.lines()})
		}
	}
	return found
}

// packageSizes returns the packages that are too large without a reason, and the reasons that are no longer needed.
func packageSizes(t tree) []string {
	var found []string
	reasons := largePackages()
	for dir, s := range sizes(t) {
		if s.code > mostPackage && reasons[dir] == "" {
			found = append(found, fmt.Sprintf("%s: %d lines of code, more than %d: split it, or give the reason in largePackages()",
				dir, s.code, mostPackage))
		}
		if s.code <= mostPackage && reasons[dir] != "" {
			found = append(found, fmt.Sprintf("%s: %d lines of code only: delete it from largePackages()", dir, s.code))
		}
	}
	return found
}

// totalSizes returns the rooms that are too large, and whether the repository is.
func totalSizes(t tree) []string {
	var found []string
	check := func(what string, lines, most int) {
		if lines > most {
			found = append(found, fmt.Sprintf("%s: %d lines, more than %d", what, lines, most))
		}
	}
	for _, r := range rooms(t) {
		check(r.name, r.code(sizes(t)), r.most)
	}
	check("code", total(t).code, mostCode)
	check("tests", total(t).tests, mostTests)
	return found
}

func total(t tree) size {
	var all size
	for _, s := range sizes(t) {
		all = all.plus(s)
	}
	return all
}

// A room is a group of packages with a common limit.
type room struct {
	name     string
	packages []string
	most     int // lines of code
}

// rooms returns the groups of packages whose size is limited together.
func rooms(t tree) []room {
	return []room{
		{"managed and what only it uses", onlyFor(t, "pkg/reconciler/managed"), mostManaged},
		{"Secret road", below(t, "pkg/connection", "pkg/reconciler/secret"), mostSecretRoad},
	}
}

func (r room) code(all map[string]size) int {
	var lines int
	for _, dir := range r.packages {
		lines += all[dir].code
	}
	return lines
}

// below returns the packages in the folders, and below them.
func below(t tree, folders ...string) []string {
	var found []string
	for dir := range t.packages() {
		if slices.ContainsFunc(folders, func(folder string) bool { return within(dir, folder) }) {
			found = append(found, dir)
		}
	}
	slices.Sort(found)
	return found
}

// onlyFor returns the packages in a folder, and those that only they import.
func onlyFor(t tree, folder string) []string {
	importers := map[string][]string{}
	for _, f := range t {
		for target := range f.imports() {
			if !f.isTest() && target != f.dir() {
				importers[target] = append(importers[target], f.dir())
			}
		}
	}
	inside := below(t, folder)
	for grown := true; grown; {
		grown = false
		for target, from := range importers {
			outside := func(dir string) bool { return !slices.Contains(inside, dir) && dir != target }
			if !slices.Contains(inside, target) && !slices.ContainsFunc(from, outside) {
				inside, grown = append(inside, target), true
			}
		}
	}
	slices.Sort(inside)
	return inside
}

// PrintSizes writes the size of every package, of the rooms and of the whole repository at root, and the limits.
func PrintSizes(w io.Writer, root string) error {
	t, err := load(os.DirFS(root))
	if err != nil {
		return err
	}
	all := sizes(t)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "code\ttests\tlimit\t")
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		limit := strconv.Itoa(mostPackage)
		if largePackages()[dir] != "" {
			limit = "-"
		}
		fmt.Fprintf(table, "%d\t%d\t%s\t %s\n", all[dir].code, all[dir].tests, limit, dir)
	}
	for _, r := range rooms(t) {
		fmt.Fprintf(table, "%d\t\t%d\t %s (%s)\n", r.code(all), r.most, r.name, strings.Join(r.packages, ", "))
	}
	sum := total(t)
	fmt.Fprintf(table, "%d\t%d\t%d, %d\t in all\n", sum.code, sum.tests, mostCode, mostTests)
	return table.Flush()
}
