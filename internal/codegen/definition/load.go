// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// A loading is an API in the data structures of the library.
type loading struct {
	*genall.Runtime
	api  *model.API
	base string // the API's base, absolute
}

// load reads the packages of an API with an overlay of files, by path relative to the API's base.
func load(ctx context.Context, api *model.API, over map[string][]byte) (*loading, error) {
	base, err := filepath.Abs(api.Base)
	if err != nil {
		return nil, err
	}
	config := &packages.Config{Context: ctx, Fset: token.NewFileSet(), Overlay: map[string][]byte{}}
	for name, text := range over {
		config.Overlay[filepath.Join(base, name)] = text
	}
	var copies genall.Generator = deepcopy.Generator{}
	var definitions genall.Generator = crd.Generator{}
	generators := genall.Generators{&copies, &definitions}
	runtime, err := generators.ForRootsWithConfig(config, filepath.Join(base, api.Dir, "..."))
	if err != nil {
		return nil, fmt.Errorf("loading packages below %s: %w", api.Dir, err)
	}
	for _, root := range runtime.Roots {
		if err := parse(root, config); err != nil {
			return nil, err
		}
	}
	return &loading{runtime, api, base}, nil
}

// parse parses the files of a package as the library does, but with the overlay.
func parse(root *loader.Package, config *packages.Config) error {
	syntax := make([]*ast.File, 0, len(root.CompiledGoFiles))
	for _, name := range root.CompiledGoFiles {
		var text any
		if over, ok := config.Overlay[name]; ok {
			text = over
		}
		file, err := parser.ParseFile(config.Fset, name, text, parser.AllErrors|parser.ParseComments)
		if err != nil {
			return fmt.Errorf("reading Go: %w", err)
		}
		syntax = append(syntax, file)
	}
	root.Syntax = syntax
	return nil
}

// problems returns the errors that the library found, except those of the type checker, which the compiler reports better. Errors in
// generated files are returned only if there are none in files of the author, which cause them.
func (l *loading) problems() error {
	var authored, generated []error
	for _, root := range l.Roots {
		for _, problem := range root.Errors {
			found := fmt.Errorf("%s: %s", strings.TrimPrefix(problem.Pos, l.base+string(filepath.Separator)), problem.Msg)
			switch {
			case problem.Kind == packages.TypeError || problem.Kind == packages.ListError:
			case strings.Contains(problem.Pos, "zz_generated."):
				generated = append(generated, found)
			default:
				authored = append(authored, found)
			}
		}
	}
	if len(authored) == 0 {
		authored = generated
	}
	slices.SortFunc(authored, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(slices.CompactFunc(authored, func(a, b error) bool { return a.Error() == b.Error() })...)
}
