// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// module is the import path that the repository's folders hang below.
const module = "github.com/bowline-dev/bowline"

// A file is one parsed Go file.
type file struct {
	path      string // slash-separated, relative to the root
	source    string
	syntax    *ast.File
	positions *token.FileSet
	generated bool // contains "DO NOT EDIT" or is named zz_*
}

func (f file) dir() string  { return path.Dir(f.path) }
func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f file) lines() int { return strings.Count(f.source, "\n") }

func (f file) functions() []*ast.FuncDecl {
	var all []*ast.FuncDecl
	for _, declaration := range f.syntax.Decls {
		if function, ok := declaration.(*ast.FuncDecl); ok {
			all = append(all, function)
		}
	}
	return all
}

// imports returns the folders of this repository that the file imports.
func (f file) imports() map[string]token.Pos {
	folders := map[string]token.Pos{}
	for _, spec := range f.syntax.Imports {
		if folder, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, "`\""), module+"/"); ours {
			folders[folder] = spec.Pos()
		}
	}
	return folders
}

// at names a place in the file as an editor understands it.
func (f file) at(pos token.Pos) string {
	return fmt.Sprintf("%s:%d", f.path, f.positions.Position(pos).Line)
}

// A tree is all of a repository's own Go code, in the order of a walk.
type tree []file

// packages groups the files by folder. A package and its external tests count as one.
func (t tree) packages() map[string][]file {
	packages := map[string][]file{}
	for _, f := range t {
		packages[f.dir()] = append(packages[f.dir()], f)
	}
	return packages
}

// handwritten returns the files that a person maintains.
func (t tree) handwritten() []file {
	return slices.DeleteFunc(slices.Clone(t), func(f file) bool { return f.generated })
}

// has reports whether the tree has files in a folder, or below it.
func (t tree) has(folder string) bool {
	return slices.ContainsFunc(t, func(f file) bool { return within(f.dir(), folder) })
}

// load parses every Go file below the root, but for testdata and hidden folders.
func load(root fs.FS) (tree, error) {
	var t tree
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipDir(name)
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		f, err := parse(root, name)
		if err != nil {
			return fmt.Errorf("parsing %s: %w", name, err)
		}
		t = append(t, f)
		return nil
	})
	return t, err
}

func skipDir(name string) error {
	if name == "." {
		return nil
	}
	base := path.Base(name)
	if base == "testdata" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return fs.SkipDir
	}
	return nil
}

func parse(root fs.FS, name string) (file, error) {
	source, err := fs.ReadFile(root, name)
	if err != nil {
		return file{}, err
	}
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, name, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return file{}, err
	}
	return file{
		path:      name,
		source:    string(source),
		syntax:    syntax,
		positions: positions,
		generated: ast.IsGenerated(syntax) || strings.HasPrefix(path.Base(name), "zz_"),
	}, nil
}
