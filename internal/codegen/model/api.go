// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package model reads the packages, kinds, fields, comments and markers of an API.
//
// It reads syntax and not types, so that the source may use declarations that are yet to be generated. It ignores generated
// files, so the result only depends on the files of the author.
//
//	api, err := model.Load("providers/sql/apis", ".")
//	for _, pkg := range api.Packages { for _, kind := range pkg.Kinds { … } }
//
// Package lint checks a model; packages source and definition generate Go and custom resource definitions from it.
package model

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// An API is all packages below one folder: the groups and versions of a provider, or of the core.
type API struct {
	Base     string     // folder that the paths of packages and positions are relative to
	Dir      string     // the folder, relative to Base
	Path     string     // import path of the folder
	Packages []*Package // below the folder, including those that are generated, sorted by folder
}

// Package returns the package of an import path, nil if it is not a part of the API.
func (a *API) Package(path string) *Package {
	return first(a.Packages, func(p *Package) bool { return p.Path == path })
}

// Load reads all packages below a folder. dir and all paths of the result are relative to base.
func Load(base, dir string) (*API, error) {
	dir = filepath.Clean(dir)
	module, moduleDir, err := findModule(filepath.Join(base, dir))
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(filepath.Join(base, dir))
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(moduleDir, absolute)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(absolute, "apis")); err == nil {
		return nil, fmt.Errorf("%s contains more than API types: use the folder %s", dir, filepath.Join(dir, "apis"))
	}
	api := &API{Base: base, Dir: dir, Path: path.Join(module, filepath.ToSlash(below))}
	if err := api.read(); err != nil {
		return nil, err
	}
	for _, pkg := range api.Packages {
		for _, s := range pkg.Structs {
			if k := readKind(s); k != nil {
				pkg.Kinds = append(pkg.Kinds, k)
			}
		}
	}
	for _, pkg := range slices.Clone(api.Packages) {
		for _, k := range slices.Clone(pkg.Kinds) {
			pkg.addClass(k)
			if len(Scopes(k.Struct)) == 2 && k.Source == nil {
				api.addSecond(k)
			}
		}
	}
	slices.SortFunc(api.Packages, func(a, b *Package) int { return cmp.Compare(a.Dir, b.Dir) })
	for _, pkg := range api.Packages {
		slices.SortFunc(pkg.Kinds, func(a, b *Kind) int { return cmp.Compare(a.Name, b.Name) })
	}
	return api, nil
}

func (a *API) read() error {
	root := filepath.Join(a.Base, a.Dir)
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if base := entry.Name(); name != root && (base == "testdata" || base[0] == '.' || base[0] == '_') {
			return fs.SkipDir
		}
		below, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		pkg, err := readPackage(a, filepath.Join(a.Dir, below), path.Join(a.Path, filepath.ToSlash(below)))
		if err != nil || pkg == nil {
			return err
		}
		a.Packages = append(a.Packages, pkg)
		return nil
	})
}

func (a *API) addSecond(k *Kind) {
	pkg := a.secondPackage(k.Package)
	if k.Role == ProviderConfig {
		a.addCopy(k, pkg, "Cluster"+k.Name, Cluster)
	}
	a.addCopy(k, pkg, k.Name, Namespaced)
}

func (a *API) addCopy(k *Kind, pkg *Package, name string, scope Scope) {
	if pkg.Declared[name] {
		return
	}
	second := *k
	second.Name, second.Package, second.Scope, second.Source = name, pkg, scope, k
	if k.Role == Managed {
		second.Spec, second.Status = Ref{pkg.Path, name + "Spec"}, Ref{pkg.Path, name + "Status"}
		second.InitPointer = false
	}
	pkg.Kinds = append(pkg.Kinds, &second)
}

func (a *API) secondPackage(first *Package) *Package {
	below := strings.TrimPrefix(first.Path, a.Path) // nothing for a package that is the whole API
	where := path.Join(a.Path, "namespaced", below)
	if pkg := a.Package(where); pkg != nil {
		pkg.Source = first
		return pkg
	}
	pkg := newPackage(a, filepath.Join(a.Dir, "namespaced", filepath.FromSlash(below)), where)
	pkg.Name, pkg.Header, pkg.Source = first.Name, first.Header, first
	a.Packages = append(a.Packages, pkg)
	return pkg
}

// Config returns the group of the provider configurations of a package's kinds: the value of the package's marker, else the
// longest suffix of the package's group that has a provider configuration for the scope.
func (p *Package) Config(scope Scope) (group string, ok bool) {
	if group := p.Comment.Value("bowline:providerConfigGroup"); group != "" {
		return group, true
	}
	for _, other := range p.API.Packages {
		for _, k := range other.Kinds {
			serves := k.Scope == scope && (scope == Namespaced || !strings.HasPrefix(k.Name, "Cluster"))
			if k.Role != ProviderConfig || !serves {
				continue
			}
			if g := other.Group(); (g == p.Group() || strings.HasSuffix(p.Group(), "."+g)) && len(g) > len(group) {
				group, ok = g, true
			}
		}
	}
	return group, ok
}

func findModule(dir string) (module, moduleDir string, err error) {
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", err
	}
	if _, err := os.Stat(dir); err != nil {
		return "", "", fmt.Errorf("reading API types: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil {
			if module := modfile.ModulePath(text); module != "" {
				return module, at, nil
			}
			return "", "", fmt.Errorf("%s has no module path", filepath.Join(at, "go.mod"))
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", "", err
		}
		if filepath.Dir(at) == at {
			return "", "", fmt.Errorf("%s is not in a Go module: run go mod init in the folder of the program", dir)
		}
	}
}

// GeneratedBy is the line that identifies generated files.
const GeneratedBy = "Code generated by bowline generate. DO NOT EDIT."

// A Package is a folder with the kinds of one group and version, or with none.
type Package struct {
	API     *API
	Dir     string // relative to the base of the API
	Path    string // import path
	Name    string
	Header  string // comment above the package comment: the licence
	Comment Comment

	Structs  []*Struct       // that the author declared, in the order of the source
	Declared map[string]bool // names of all top-level declarations of the author
	Methods  map[string]bool // that the author declared, as Type.Method
	Kinds    []*Kind         // including those that are generated, sorted by name
	Source   *Package        // package of the first scope, if this one is that of the second
	Written  bool            // the author wrote a file of the package
}

// Group of the package's kinds.
func (p *Package) Group() string {
	if group := p.Comment.Value("groupName"); group != "" || p.Source == nil {
		return group
	}
	return p.Source.secondGroup()
}

// Version of the package's kinds.
func (p *Package) Version() string { return cmp.Or(p.Value("versionName"), p.Name) }

// secondGroup is the group of the namespaced kinds of a package: .m before the last two labels (N35).
func (p *Package) secondGroup() string {
	if group := p.Comment.Value("bowline:namespacedGroup"); group != "" {
		return group
	}
	labels := strings.Split(p.Group(), ".")
	return strings.Join(slices.Insert(labels, max(len(labels)-2, 0), "m"), ".")
}

// Value returns the value of a marker of the package, or else that of the package of the first scope.
func (p *Package) Value(marker string) string {
	if value := p.Comment.Value(marker); value != "" || p.Source == nil {
		return value
	}
	return p.Source.Comment.Value(marker)
}

// OptedIn is true if the package has a marker of bowline.
func (p *Package) OptedIn() bool {
	if p.Source != nil || p.Comment.isOurs() {
		return true
	}
	for _, s := range p.Structs {
		if s.Comment.isOurs() || slices.ContainsFunc(s.Fields, func(f *Field) bool { return f.Comment.isOurs() }) {
			return true
		}
	}
	return false
}

// Struct returns the struct of a name, nil if the author declared none.
func (p *Package) Struct(name string) *Struct {
	return first(p.Structs, func(s *Struct) bool { return s.Name == name })
}

// Kind returns the kind of a name, nil if there is none.
func (p *Package) Kind(name string) *Kind {
	return first(p.Kinds, func(k *Kind) bool { return k.Name == name })
}

func newPackage(api *API, dir, path string) *Package {
	return &Package{
		API: api, Dir: dir, Path: path, Declared: map[string]bool{}, Methods: map[string]bool{},
	}
}

// readPackage reads the files of a folder that are not generated. It returns nil if there are none.
func readPackage(api *API, dir, path string) (*Package, error) {
	pkg := newPackage(api, dir, path)
	names, err := filepath.Glob(filepath.Join(api.Base, dir, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || filepath.Base(name) == "zz_generated.deepcopy.go" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := pkg.readFile(filepath.Join(dir, filepath.Base(name)), text); err != nil {
			return nil, err
		}
	}
	if !pkg.Written {
		return nil, nil
	}
	return pkg, nil
}

func (p *Package) readFile(name string, text []byte) error {
	if head, _, _ := strings.Cut("\n"+string(text), "\npackage "); strings.Contains(head, GeneratedBy) {
		return nil
	}
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("reading Go: %w", err)
	}
	if p.Name != "" && p.Name != file.Name.Name {
		return fmt.Errorf("%s: package %s, but another file of the folder has package %s", name, file.Name.Name, p.Name)
	}
	p.Name, p.Written = file.Name.Name, true
	at := files.Position
	if file.Doc != nil {
		p.readHead(file, at)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				p.Declared[d.Name.Name] = true
			} else if t := readType(d.Recv.List[0].Type, nil); t.Name != "" {
				p.Methods[t.Name+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			p.readDeclaration(file, d, at)
		}
	}
	return nil
}

// readHead reads the comments above the package clause. Markers may be in separate comments there.
func (p *Package) readHead(file *ast.File, at func(token.Pos) token.Position) {
	for _, group := range file.Comments {
		if group.Pos() >= file.Doc.Pos() {
			break
		}
		if text := group.Text(); p.Header == "" && !strings.HasPrefix(text, "+") {
			for _, line := range group.List {
				p.Header += line.Text + "\n"
			}
		}
	}
	p.Comment = readComment(at, file.Doc)
}

func (p *Package) readDeclaration(file *ast.File, d *ast.GenDecl, at func(token.Pos) token.Position) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				p.Declared[name.Name] = true
			}
		case *ast.TypeSpec:
			p.Declared[spec.Name.Name] = true
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			doc := cmp.Or(spec.Doc, d.Doc)
			comment := readComment(at, markersAbove(file, doc, at), doc)
			p.Structs = append(p.Structs, readStruct(p, file, spec, comment, s, at))
		}
	}
}

// markersAbove finds markers one empty line above a comment, where scaffolds of kubebuilder put those of types.
func markersAbove(file *ast.File, doc *ast.CommentGroup, at func(token.Pos) token.Position) *ast.CommentGroup {
	return first(file.Comments, func(group *ast.CommentGroup) bool {
		return doc != nil && at(group.End()).Line+2 == at(doc.Pos()).Line && len(readComment(at, group).Prose) == 0
	})
}
