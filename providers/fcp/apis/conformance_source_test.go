// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/bowline-dev/bowline/pkg/crd"
	"github.com/bowline-dev/bowline/pkg/resource"
	"github.com/bowline-dev/bowline/providers/fcp/apis"
	"github.com/bowline-dev/bowline/providers/fcp/apis/crds"
)

const (
	module = "github.com/bowline-dev/bowline/"
	root   = "../../.." // the folder of the module
)

// A rootKind is a kind of the provider as the scheme, the definition and the source know it. The rules of the files named
// conformance hold for all of them, also for those that are added later.
type rootKind struct {
	gvk        schema.GroupVersionKind
	object     client.Object // an empty one
	definition *apiextensionsv1.CustomResourceDefinition
}

// rootKinds returns all kinds of the provider, and fails for one without a definition.
func rootKinds(t *testing.T) []rootKind {
	t.Helper()
	s := newScheme(t)
	definitions, err := crd.Load(crds.FS)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []rootKind
	for gvk, typ := range s.AllKnownTypes() {
		object, ok := reflect.New(typ).Interface().(client.Object)
		if !ok || !strings.HasPrefix(typ.PkgPath(), module) {
			continue // a list, or one of the types of every group
		}
		i := slices.IndexFunc(definitions, func(d *apiextensionsv1.CustomResourceDefinition) bool {
			return d.Spec.Group == gvk.Group && d.Spec.Names.Kind == gvk.Kind
		})
		if i < 0 {
			t.Fatalf("%s has no definition", gvk)
		}
		kinds = append(kinds, rootKind{gvk, object, definitions[i]})
	}
	if len(kinds) != len(definitions) {
		t.Fatalf("the scheme has %d kinds, and there are %d definitions", len(kinds), len(definitions))
	}
	slices.SortFunc(kinds, func(a, b rootKind) int { return cmp.Compare(a.gvk.String(), b.gvk.String()) })
	return kinds
}

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := apis.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

// managed returns those that satisfy resource.Managed.
func managed(kinds []rootKind) []rootKind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k rootKind) bool {
		_, ok := k.object.(resource.Managed)
		return !ok
	})
}

// configs returns those that satisfy resource.ProviderConfig.
func configs(kinds []rootKind) []rootKind {
	return slices.DeleteFunc(slices.Clone(kinds), func(k rootKind) bool {
		_, ok := k.object.(resource.ProviderConfig)
		return !ok
	})
}

func (k rootKind) String() string { return k.gvk.Kind + " of " + k.gvk.Group }

func (k rootKind) typ() reflect.Type { return reflect.TypeOf(k.object).Elem() }

// namespaced is the scope by the definition.
func (k rootKind) namespaced() bool {
	return k.definition.Spec.Scope == apiextensionsv1.NamespaceScoped
}

// part returns the type of a field of the object, such as Spec, or of a field of that, such as Spec.ForProvider.
func (k rootKind) part(t *testing.T, path ...string) reflect.Type {
	t.Helper()
	typ := k.typ()
	for _, name := range path {
		f, ok := typ.FieldByName(name)
		if !ok {
			t.Fatalf("%s has no field %s", typ, name)
		}
		typ = f.Type
	}
	return typ
}

// schema returns the definition's schema of a property, by its path from the top.
func (k rootKind) schema(path ...string) apiextensionsv1.JSONSchemaProps {
	for _, v := range k.definition.Spec.Versions {
		if v.Name == k.gvk.Version {
			s := *v.Schema.OpenAPIV3Schema
			for _, name := range path {
				s = s.Properties[name]
			}
			return s
		}
	}
	return apiextensionsv1.JSONSchemaProps{}
}

// A declaration is what the source says of a struct type.
type declaration struct {
	text   string            // the comment, markers included
	fields map[string]string // the comments of the fields, by their names in Go
}

// has tells whether a comment has the marker as a line of its own, or the beginning of one that ends in "=" or ":".
func has(comment, marker string) bool {
	return slices.ContainsFunc(strings.Split(comment, "\n"), func(line string) bool {
		return line == marker || strings.HasSuffix(marker, "=") && strings.HasPrefix(line, marker)
	})
}

// prose is what a comment says to people.
func prose(comment string) string {
	lines := slices.DeleteFunc(strings.Split(comment, "\n"), func(line string) bool { return strings.HasPrefix(line, "+") })
	return strings.Join(lines, " ")
}

// markersOf returns the comment with the markers of a kind. A kind that is written once for both scopes has them where its
// settings are: those of what is generated for the second scope would only repeat them.
func markersOf(t *testing.T, k rootKind) string {
	t.Helper()
	if own := declarationOf(t, k.typ()).text; has(own, "+bowline:scopes=") {
		return own
	}
	settings := k.part(t, "Spec")
	if _, ok := settings.FieldByName("ForProvider"); ok {
		settings = k.part(t, "Spec", "ForProvider")
	}
	suffix := strings.TrimPrefix(settings.Name(), strings.TrimPrefix(k.gvk.Kind, "Cluster"))
	of := strings.TrimSuffix(settings.Name(), suffix)
	for _, other := range rootKinds(t) {
		if other.gvk.Kind == of && other.typ().PkgPath() == settings.PkgPath() {
			return declarationOf(t, other.typ()).text
		}
	}
	t.Fatalf("nobody wrote %s", k)
	return ""
}

// hasScope tells whether a marker says that a kind is of the scope.
func hasScope(markers string, scope apiextensionsv1.ResourceScope) bool {
	for line := range strings.SplitSeq(markers, "\n") {
		if said, ok := strings.CutPrefix(line, "+bowline:scopes="); ok {
			return slices.Contains(strings.Split(said, ","), string(scope))
		}
	}
	return false
}

// declarationOf reads the source of a struct type of this repository.
func declarationOf(t *testing.T, typ reflect.Type) declaration {
	t.Helper()
	for _, file := range sourceOf(t, filepath.Join(root, strings.TrimPrefix(typ.PkgPath(), module))) {
		for _, d := range file.Decls {
			general, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range general.Specs {
				named, ok := s.(*ast.TypeSpec)
				if !ok || named.Name.Name != typ.Name() {
					continue
				}
				text := general.Doc.Text()
				if named.Doc != nil {
					text = named.Doc.Text()
				}
				return declaration{text: text, fields: comments(named)}
			}
		}
	}
	t.Fatalf("no source of %s", typ)
	return declaration{}
}

func comments(of *ast.TypeSpec) map[string]string {
	fields := map[string]string{}
	if s, ok := of.Type.(*ast.StructType); ok {
		for _, f := range s.Fields.List {
			for _, name := range f.Names {
				fields[name.Name] = f.Doc.Text()
			}
		}
	}
	return fields
}

// sourceOf parses the files of a package by their names, without tests and copies.
func sourceOf(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no source in %s: %v", dir, err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if base := filepath.Base(name); strings.HasSuffix(base, "_test.go") || base == "zz_generated.deepcopy.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(name)] = file
	}
	return files
}

// A field is a field of a tree of structs, as Go, JSON and the source know it.
type field struct {
	reflect.StructField
	path    []string // of the names in JSON
	comment string
}

func (f field) String() string { return strings.Join(f.path, ".") }

func (f field) json() string { return f.path[len(f.path)-1] }

// omitted tells whether JSON leaves the field out when it is empty.
func (f field) omitted() bool {
	_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	return strings.Contains(options, "omitempty") && f.Type.Kind() != reflect.Struct || strings.Contains(options, "omitzero")
}

// fieldsOf returns the fields of a struct type, those of embedded structs in their place, and of all structs of this
// repository below.
func fieldsOf(t *testing.T, typ reflect.Type, at ...string) []field {
	t.Helper()
	source := declarationOf(t, typ)
	var all []field
	for f := range typ.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			all = append(all, fieldsOf(t, f.Type, at...)...)
			continue
		}
		path := append(slices.Clone(at), name)
		all = append(all, field{f, path, source.fields[f.Name]})
		if below := structBelow(f.Type); below != nil {
			all = append(all, fieldsOf(t, below, path...)...)
		}
	}
	return all
}

// structBelow returns the struct type of this repository that a field holds, points to or holds many of, or nil.
func structBelow(typ reflect.Type) reflect.Type {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Struct && strings.HasPrefix(typ.PkgPath(), module) {
		return typ
	}
	return nil
}
