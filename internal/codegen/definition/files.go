// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package definition generates deepcopy functions and custom resource definitions.
//
// It uses sigs.k8s.io/controller-tools as a library, so authors need no other program and can use every marker of kubebuilder.
// Afterwards it adds to the definitions what markers of bowline and conventions require: scope, columns, labels, and rules for
// immutable and required settings (N7, N29, N33). Settings of the author take precedence.
//
// The library reads Go from disk. Generated files are passed to it as an overlay and need not be written first.
package definition

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/token"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/deepcopy"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// Files generates the deepcopy functions and definitions of an API, given its other generated Go files. The keys of both maps are
// paths relative to the API's base.
func Files(ctx context.Context, api *model.API, over map[string][]byte) (map[string][]byte, error) {
	l, err := load(ctx, api, over)
	if err != nil {
		return nil, err
	}
	files := memory{}
	if err := l.deepcopy(files); err != nil {
		return nil, err
	}
	if err := l.definitions(files); err != nil {
		return nil, err
	}
	if err := l.problems(); err != nil {
		return nil, err
	}
	return files, compile(ctx, files, l.crds())
}

func (l *loading) deepcopy(files memory) error {
	for _, root := range l.Roots {
		pkg := l.api.Package(root.PkgPath)
		if pkg == nil {
			continue
		}
		ctx := l.GenerationContext
		ctx.Roots = []*loader.Package{root}
		ctx.OutputRule = folder{files, pkg.Dir}
		ctx.InputRule = header(strings.TrimSuffix(pkg.Header, "\n"))
		if err := (deepcopy.Generator{HeaderFile: "header"}).Generate(&ctx); err != nil {
			return fmt.Errorf("generating deepcopy functions of %s: %w", pkg.Dir, err)
		}
	}
	return nil
}

func (l *loading) definitions(files memory) error {
	p := &crd.Parser{Collector: l.Collector, Checker: l.Checker}
	crd.AddKnownTypes(p)
	for _, root := range l.Roots {
		p.NeedPackage(root)
	}
	metav1 := crd.FindMetav1(l.Roots)
	if metav1 == nil {
		return nil
	}
	ctx := l.GenerationContext
	ctx.OutputRule = folder{files, l.crds()}
	var protected protection
	for _, kind := range crd.FindKubeKinds(p, metav1) {
		p.NeedCRDFor(kind, nil)
		definition, ok := p.CustomResourceDefinitions[kind]
		if !ok {
			continue
		}
		crd.FixTopLevelMetadata(definition)
		complete(&definition, l.api, &protected)
		names := goNames(p)
		for _, version := range definition.Spec.Versions {
			spell(version.Schema.OpenAPIV3Schema, names)
		}
		name := definition.Spec.Group + "_" + definition.Spec.Names.Plural + ".yaml"
		if err := ctx.WriteYAML(name, "# "+model.GeneratedBy+"\n", []any{definition}, genall.WithTransform(bare)); err != nil {
			return fmt.Errorf("generating the definition of %s: %w", kind, err)
		}
	}
	if err := protected.write(&ctx); err != nil {
		return fmt.Errorf("generating the admission policy: %w", err)
	}
	return nil
}

// crds is the folder of the definitions.
func (l *loading) crds() string { return filepath.Join(l.api.Dir, "crds") }

// goNames returns the fields whose names in Go are no words of a sentence, each with its names in JSON.
func goNames(p *crd.Parser) map[string][]string {
	names := map[string][]string{}
	for _, info := range p.Types {
		for _, field := range info.Fields {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if isWord := strings.EqualFold(name, field.Name) && strings.ToLower(name) == name; field.Name != "" && !isWord {
				names[field.Name] = append(names[field.Name], name)
			}
		}
	}
	return names
}

// bare removes the fields that only the API server writes.
func bare(object map[string]any) error {
	delete(object, "status")
	return genall.TransformRemoveCreationTimestamp(object)
}

func complete(d *apiextensionsv1.CustomResourceDefinition, api *model.API, protected *protection) {
	for i := range d.Spec.Versions {
		version := &d.Spec.Versions[i]
		for _, pkg := range api.Packages {
			if pkg.Group() != d.Spec.Group || pkg.Version() != version.Name || !pkg.OptedIn() {
				continue
			}
			if k := pkg.Kind(d.Spec.Names.Kind); k != nil {
				describe(d, version, k)
				constrain(version.Schema.OpenAPIV3Schema, k)
				protected.add(d, k)
			}
		}
	}
}

type memory map[string][]byte

// A folder of files in memory; it satisfies genall.OutputRule.
type folder struct {
	files memory
	dir   string
}

// Open returns a file to write to. It exists once it is closed.
func (f folder) Open(_ *loader.Package, name string) (io.WriteCloser, error) {
	return &written{files: f.files, name: filepath.Join(f.dir, name)}, nil
}

type written struct {
	bytes.Buffer
	files memory
	name  string
}

func (w *written) Close() error {
	w.files[w.name] = w.Bytes()
	return nil
}

// A header is the only file that the library reads; it satisfies genall.InputRule.
type header string

// OpenForRead returns the header for every name.
func (h header) OpenForRead(string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(string(h))), nil
}

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
	// The library itself would parse without the overlay.
	config := &packages.Config{Context: ctx, Mode: packages.NeedSyntax, Fset: token.NewFileSet(), Overlay: map[string][]byte{}}
	for name, text := range over {
		config.Overlay[filepath.Join(base, name)] = text
	}
	generators := genall.Generators{new(genall.Generator(deepcopy.Generator{})), new(genall.Generator(crd.Generator{}))}
	runtime, err := generators.ForRootsWithConfig(config, filepath.Join(base, api.Dir, "..."))
	if err != nil {
		return nil, fmt.Errorf("loading packages below %s: %w", api.Dir, err)
	}
	l := &loading{runtime, api, base}
	return l, l.unloaded()
}

// unloaded returns an error for each package that the API imports and that cannot be loaded: what is said of its types would mislead.
func (l *loading) unloaded() error {
	why := map[string]string{}
	for _, root := range l.Roots {
		for path, imported := range root.Package.Imports {
			for _, problem := range imported.Errors {
				if problem.Kind == packages.ListError {
					why[path] = problem.Msg
				}
			}
		}
	}
	var all []error
	for _, path := range slices.Sorted(maps.Keys(why)) {
		all = append(all, fmt.Errorf("package %s cannot be loaded: %s\nRun go mod tidy, and check the requirements and replacements in go.mod", path,
			strings.TrimSpace(why[path])))
	}
	return errors.Join(all...)
}

// problems leaves out type errors, which the compiler reports better, and consequential errors in generated files.
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
