// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// An API is all packages below one folder: the groups and versions of a provider, or of the core.
type API struct {
	// Base is the folder that the paths of packages and positions are relative to.
	Base string
	// Dir is the folder, relative to Base.
	Dir string
	// Path is the import path of the folder.
	Path string
	// Packages below the folder, including those that are generated, sorted by folder.
	Packages []*Package

	byPath map[string]*Package
}

// Package returns the package of an import path, nil if it is not a part of the API.
func (a *API) Package(path string) *Package { return a.byPath[path] }

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
	api := &API{Base: base, Dir: dir, Path: path.Join(module, filepath.ToSlash(below)), byPath: map[string]*Package{}}
	if err := api.read(); err != nil {
		return nil, err
	}
	for _, pkg := range api.Packages {
		for _, s := range pkg.OrderedStructs() {
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
		pkg, err := readPackage(a, a.Base, filepath.Join(a.Dir, below), path.Join(a.Path, filepath.ToSlash(below)))
		if err != nil || pkg == nil {
			return err
		}
		a.add(pkg)
		return nil
	})
}

func (a *API) add(pkg *Package) {
	a.Packages = append(a.Packages, pkg)
	a.byPath[pkg.Path] = pkg
}

// addSecond adds the namespaced kinds of a kind of both scopes, in their own package, unless the author wrote them.
func (a *API) addSecond(k *Kind) {
	pkg := a.secondPackage(k.Package)
	if k.Role == ProviderConfig {
		a.addCopy(k, pkg, "Cluster"+k.Name, Cluster)
	}
	a.addCopy(k, pkg, k.Name, Namespaced)
}

func (a *API) addCopy(k *Kind, pkg *Package, name string, scope Scope) {
	if _, declared := pkg.Declared[name]; declared {
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

// secondPackage returns apis/namespaced/GROUP/VERSION for apis/GROUP/VERSION.
func (a *API) secondPackage(first *Package) *Package {
	below := strings.TrimPrefix(first.Path, a.Path+"/")
	where := path.Join(a.Path, "namespaced", below)
	if pkg := a.byPath[where]; pkg != nil {
		pkg.Source = first
		return pkg
	}
	pkg := newPackage(a, filepath.Join(a.Dir, "namespaced", filepath.FromSlash(below)), where)
	pkg.Name, pkg.Header, pkg.Source = first.Name, first.Header, first
	a.add(pkg)
	return pkg
}

// Config returns the group of the provider configurations of a package's kinds: the value of the package's marker, else the longest
// suffix of the package's group that has a provider configuration for the scope.
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

// findModule returns the path and folder of the Go module of a folder.
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
			for line := range strings.Lines(string(text)) {
				if module, ok := strings.CutPrefix(line, "module "); ok {
					return strings.Trim(strings.TrimSpace(module), `"`), at, nil
				}
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
