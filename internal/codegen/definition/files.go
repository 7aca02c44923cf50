// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

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
	return files, l.problems()
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
	ctx.OutputRule = folder{files, filepath.Join(l.api.Dir, "crds")}
	for _, kind := range crd.FindKubeKinds(p, metav1) {
		p.NeedCRDFor(kind, nil)
		definition, ok := p.CustomResourceDefinitions[kind]
		if !ok {
			continue
		}
		crd.FixTopLevelMetadata(definition)
		complete(&definition, l.api)
		name := definition.Spec.Group + "_" + definition.Spec.Names.Plural + ".yaml"
		if err := ctx.WriteYAML(name, "# "+model.GeneratedBy+"\n", []any{definition}, genall.WithTransform(bare)); err != nil {
			return fmt.Errorf("generating the definition of %s: %w", kind, err)
		}
	}
	return nil
}

// bare removes the fields that only the API server writes.
func bare(object map[string]any) error {
	delete(object, "status")
	return genall.TransformRemoveCreationTimestamp(object)
}

// complete adds the defaults to a definition, and the rules for markers.
func complete(d *apiextensionsv1.CustomResourceDefinition, api *model.API) {
	for i := range d.Spec.Versions {
		version := &d.Spec.Versions[i]
		for _, pkg := range api.Packages {
			if pkg.Group() != d.Spec.Group || pkg.Version() != version.Name || !pkg.OptedIn() {
				continue
			}
			if k := pkg.Kind(d.Spec.Names.Kind); k != nil {
				describe(d, version, k)
				constrain(version.Schema.OpenAPIV3Schema, k)
			}
		}
	}
}

// memory contains files by path.
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
