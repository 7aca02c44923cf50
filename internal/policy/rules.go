// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"go/ast"
	"path"
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
		{"licence header", "A copied file must show its license.", licence},
		{"package comment", "Every package explains itself in one place.", packageComments},
		{"function size", "A function must fit on a screen.", functionSizes},
		{"file size", "A file has one subject.", fileSizes},
		{"package size", "A package is one idea that a reader can hold.", packageSizes},
		{"total size", "Code that is not needed costs every reader.", totalSizes},
		{"messages", "Messages are for people and may be reworded at any time; code decides on types and reasons.", messageReaders},
		{"main size", "Only libraries can be tested; main calls one.", mainSizes},
		{"no init", "Importing a package must not do anything.", noInit},
		{"no skipped tests", "A skipped test looks like a passed one.", noSkip},
		{"linter comments", "vet and staticcheck need none; a comment for a linter that does not run misleads.", linterComments},
		{"imports (R4, R8)", "Dependencies point in one direction.", imports},
	}
}

func licence(t tree) []string {
	var found []string
	for _, f := range t.handwritten() {
		if !strings.HasPrefix(f.source, licenceHeader) {
			found = append(found, f.path+": the first two lines are not the licence header and an empty line")
		}
	}
	return found
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

func functionSizes(t tree) []string {
	var found []string
	for _, f := range t.handwritten() {
		for _, function := range functions(f) {
			first := f.positions.Position(function.Pos()).Line
			last := f.positions.Position(function.End()).Line
			if lines := last - first + 1; lines > maxFunctionLines {
				found = append(found, fmt.Sprintf("%s: function %s has %d lines, more than %d",
					f.at(function.Pos()), function.Name.Name, lines, maxFunctionLines))
			}
		}
	}
	return found
}

func fileSizes(t tree) []string {
	var found []string
	for _, f := range t.handwritten() {
		if lines := strings.Count(f.source, "\n"); lines > maxFileLines {
			found = append(found, fmt.Sprintf("%s: %d lines, more than %d", f.path, lines, maxFileLines))
		}
	}
	return found
}

func mainSizes(t tree) []string {
	var found []string
	for _, f := range t.handwritten() {
		if path.Base(f.path) != "main.go" || !strings.HasPrefix(f.path, "cmd/") {
			continue
		}
		if lines := strings.Count(f.source, "\n"); lines >= maxMainLines {
			found = append(found, fmt.Sprintf("%s: %d lines instead of less than %d", f.path, lines, maxMainLines))
		}
	}
	return found
}

func noInit(t tree) []string {
	var found []string
	for _, f := range t.handwritten() {
		for _, function := range functions(f) {
			if function.Recv == nil && function.Name.Name == "init" {
				found = append(found, f.at(function.Pos())+": func init")
			}
		}
	}
	return found
}

// linterComments returns the comments that turn off a linter.
func linterComments(t tree) []string {
	var found []string
	for _, f := range t.handwritten() {
		for _, group := range f.syntax.Comments {
			for _, comment := range group.List {
				if strings.HasPrefix(comment.Text, "//nolint") {
					found = append(found, f.at(comment.Pos())+": "+comment.Text)
				}
			}
		}
	}
	return found
}

// noSkip returns the calls of Skip, Skipf and SkipNow in files that import package testing.
func noSkip(t tree) []string {
	var found []string
	for _, f := range t.handwritten() {
		if !importsTesting(f) {
			continue
		}
		ast.Inspect(f.syntax, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			selector, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			switch selector.Sel.Name {
			case "Skip", "Skipf", "SkipNow":
				found = append(found, f.at(call.Pos())+": call of "+selector.Sel.Name)
			}
			return true
		})
	}
	return found
}

func importsTesting(f file) bool {
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value == `"testing"` {
			return true
		}
	}
	return false
}

func functions(f file) []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, declaration := range f.syntax.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok {
			all = append(all, function)
		}
	}
	return all
}
