// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy checks the rules of this repository as tests.
//
// A rule reads the parsed source tree and returns its violations, each with the place. TestRepository applies every rule to
// this repository; the other tests prove with small trees that each rule can fail.
package policy

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strings"
)

const (
	maxFunctionLines = 80
	maxFileLines     = 500
	maxMainLines     = 20
)

const licenceHeader = "// Copyright The Bowline Authors.\n// SPDX-License-Identifier: Apache-2.0\n\n"

// A rule returns one line for each violation.
type rule struct {
	name   string
	reason string // shown on failure
	check  func(tree) []string
}

// rules lists what holds for the source itself. The rules on imports are in imports.go.
func rules() []rule {
	return []rule{
		{"licence header", "A copied file must show its license.", files(licence)},
		{"package comment", "Every package explains itself in one place.", packageComments},
		{"function size", "A function must fit on a screen.", functions(functionSize)},
		{"file size", "A file has one subject.", files(fileSize)},
		{"package size", "A package is one idea that a reader can hold.", packageSizes},
		{"total size", "Code that is not needed costs every reader.", totalSizes},
		{"messages", "Messages are for people and may be reworded at any time; code decides on types and reasons.", messageReaders},
		{"main size", "Only libraries can be tested; main calls one.", files(mainSize)},
		{"no init", "Importing a package must not do anything.", functions(noInit)},
		{"no skipped tests", "A skipped test looks like a passed one.", files(noSkip)},
		{"linter comments", "vet and staticcheck need none; a comment for a linter that does not run misleads.", files(linterComments)},
		{"imports (R4, R8)", "Dependencies point in one direction.", imports},
	}
}

// files applies a check to each file that people maintain.
func files(check func(file) []string) func(tree) []string {
	return func(t tree) []string {
		var found []string
		for _, f := range t.handwritten() {
			found = append(found, check(f)...)
		}
		return found
	}
}

// functions applies a check to each function that people maintain.
func functions(check func(file, *ast.FuncDecl) []string) func(tree) []string {
	return files(func(f file) []string {
		var found []string
		for _, function := range f.functions() {
			found = append(found, check(f, function)...)
		}
		return found
	})
}

func licence(f file) []string {
	if strings.HasPrefix(f.source, licenceHeader) {
		return nil
	}
	return []string{f.path + ": the first two lines are not the licence header and an empty line"}
}

func packageComments(t tree) []string {
	var found []string
	for dir, files := range t.packages() {
		var comments []file
		for _, f := range files {
			if f.syntax.Doc != nil {
				comments = append(comments, f)
			}
		}
		if len(comments) != 1 {
			found = append(found, fmt.Sprintf("%s: %d package comments instead of one", dir, len(comments)))
			continue
		}
		name := strings.TrimSuffix(comments[0].syntax.Name.Name, "_test")
		opening := "Package " + name + " "
		if name == "main" {
			opening = "Command "
		}
		if !strings.HasPrefix(comments[0].syntax.Doc.Text(), opening) {
			found = append(found, fmt.Sprintf("%s: the package comment does not begin with %q", comments[0].path, opening))
		}
	}
	return found
}

func functionSize(f file, function *ast.FuncDecl) []string {
	first, last := f.positions.Position(function.Pos()).Line, f.positions.Position(function.End()).Line
	if lines := last - first + 1; lines > maxFunctionLines {
		return []string{fmt.Sprintf("%s: function %s has %d lines, more than %d",
			f.at(function.Pos()), function.Name.Name, lines, maxFunctionLines)}
	}
	return nil
}

func fileSize(f file) []string {
	if lines := f.lines(); lines > maxFileLines {
		return []string{fmt.Sprintf("%s: %d lines, more than %d", f.path, lines, maxFileLines)}
	}
	return nil
}

func mainSize(f file) []string {
	isMain := path.Base(f.path) == "main.go" && strings.HasPrefix(f.path, "cmd/")
	if lines := f.lines(); isMain && lines >= maxMainLines {
		return []string{fmt.Sprintf("%s: %d lines instead of less than %d", f.path, lines, maxMainLines)}
	}
	return nil
}

func noInit(f file, function *ast.FuncDecl) []string {
	if function.Recv == nil && function.Name.Name == "init" {
		return []string{f.at(function.Pos()) + ": func init"}
	}
	return nil
}

// linterComments returns the comments that turn off a linter.
func linterComments(f file) []string {
	var found []string
	for _, group := range f.syntax.Comments {
		for _, comment := range group.List {
			if strings.HasPrefix(comment.Text, "//nolint") {
				found = append(found, f.at(comment.Pos())+": "+comment.Text)
			}
		}
	}
	return found
}

// noSkip returns the calls of Skip, Skipf and SkipNow in files that import package testing.
func noSkip(f file) []string {
	if !slices.ContainsFunc(f.syntax.Imports, func(s *ast.ImportSpec) bool { return s.Path.Value == `"testing"` }) {
		return nil
	}
	var found []string
	ast.Inspect(f.syntax, func(node ast.Node) bool {
		if call, ok := node.(*ast.CallExpr); ok {
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, selector.Sel.Name) {
				found = append(found, f.at(call.Pos())+": call of "+selector.Sel.Name)
			}
		}
		return true
	})
	return found
}
