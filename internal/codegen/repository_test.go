// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bowline-dev/bowline/internal/codegen/lint"
	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// The rules of package lint hold for every kind that is declared in this repository, and its packages are laid out alike.
func TestRepository(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"apis", "providers/fcp/apis", "providers/sql/apis", "examples/notes/apis"} {
		api, err := model.Load("../..", dir)
		if err != nil || len(api.Packages) == 0 {
			t.Fatalf("%d packages in %s: %v", len(api.Packages), dir, err)
		}
		t.Run("markers, links, scopes, specs, statuses, settings and observations of kinds in "+dir+
			" (K7 K11 K31 K32 K34 K72 K74 P5 P23 P34 P40 P41 P43 P46 P51 P60 P71 P90 P91)", func(t *testing.T) {
			t.Parallel()
			if err := lint.Check(api); err != nil {
				t.Error(err)
			}
		})
		for _, pkg := range api.Packages {
			if !pkg.OptedIn() || len(pkg.Kinds) == 0 {
				continue
			}
			files := sourceOf(t, filepath.Join("../..", pkg.Dir))
			t.Run("markers of the package are in doc.go of "+pkg.Dir+" (T30 T32)", func(t *testing.T) {
				t.Parallel()
				checkDoc(t, pkg, files)
			})
			t.Run("metadata of kinds is in register.go of "+pkg.Dir+" (A70 A71 T31)", func(t *testing.T) {
				t.Parallel()
				names := []string{"Group", "GroupVersion"}
				for _, k := range pkg.Kinds {
					names = append(names, k.Name+"Kind", k.Name+"KindAPIVersion", k.Name+"GroupVersionKind")
				}
				for _, name := range names {
					if files["zz_generated.register.go"].Scope.Lookup(name) == nil {
						t.Errorf("zz_generated.register.go does not declare %s", name)
					}
				}
			})
		}
	}
}

// sourceOf returns the syntax of a package by the names of its files.
func sourceOf(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if files[filepath.Base(name)], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// checkDoc requires the package comment and the markers of the package in one file, which is generated for a second scope.
func checkDoc(t *testing.T, pkg *model.Package, files map[string]*ast.File) {
	t.Helper()
	doc := "doc.go"
	if files[doc] == nil {
		doc = "zz_generated.doc.go"
	}
	for name, file := range files {
		for _, group := range file.Comments {
			lines := strings.Split(group.Text(), "\n")
			for _, marker := range []string{"+groupName=" + pkg.Group(), "+kubebuilder:object:generate=true"} {
				if found, want := slices.Contains(lines, marker), name == doc && group == file.Doc; found != want {
					t.Errorf("%s contains the marker %s: %t", name, marker, found)
				}
			}
		}
	}
	if text := files[doc].Doc.Text(); !strings.HasPrefix(text, "Package "+pkg.Name+" ") {
		t.Errorf("%s begins with %q", doc, text)
	}
}
