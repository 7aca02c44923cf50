// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/bowline-dev/bowline/pkg/crd"
)

// testdata/fcp/byhand holds what people wrote for the kinds of the favourite cloud when there was no generator.
const byHand, generated = "testdata/fcp/byhand", "../../providers/fcp/apis"

// The definitions that are generated say what those say whose every rule, column and label was written by hand, with
// these differences: texts for people, and that every kind has initProvider now, with rules on what cannot change. Kinds that came later have none by hand.
func TestDefinitionsAsByHand(t *testing.T) {
	t.Parallel()
	want, got := definitions(t, filepath.Join(byHand, "crds")), definitions(t, filepath.Join(generated, "crds"))
	maps.DeleteFunc(got, func(name string, _ *apiextensionsv1.CustomResourceDefinition) bool { return want[name] == nil })
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Fatalf("-by hand +generated:\n%s", diff)
	}
	for name := range want {
		t.Run(name+" (T20, T22, T24, N7, N16, N29, N33, O32)", func(t *testing.T) {
			t.Parallel()
			spec := want[name].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			withoutInitialRules(got[name])
			if _, has := spec.Properties["initProvider"]; !has {
				withoutInit(got[name])
			}
			for _, d := range []*apiextensionsv1.CustomResourceDefinition{want[name], got[name]} {
				d.Annotations = nil
				blunt(d.Spec.Versions[0].Schema.OpenAPIV3Schema)
			}
			if diff := cmp.Diff(want[name], got[name], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-by hand +generated:\n%s", diff)
			}
		})
	}
}

func definitions(t *testing.T, dir string) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all, err := crd.Load(os.DirFS(dir))
	if err != nil || len(all) == 0 {
		t.Fatalf("%d definitions in %s, %v", len(all), dir, err)
	}
	named := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, d := range all {
		named[d.Name] = d
	}
	return named
}

// withoutInitialRules takes the rules on immutable settings in initProvider out of a definition.
func withoutInitialRules(d *apiextensionsv1.CustomResourceDefinition) {
	schema := d.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := schema.Properties["spec"]
	spec.XValidations = slices.DeleteFunc(spec.XValidations, func(v apiextensionsv1.ValidationRule) bool {
		return strings.Contains(v.Message, " was set in spec.initProvider ")
	})
	initial := spec.Properties["initProvider"]
	initial.XValidations = nil
	spec.Properties["initProvider"] = initial
	schema.Properties["spec"] = spec
}

// withoutInit takes initProvider out of a definition.
func withoutInit(d *apiextensionsv1.CustomResourceDefinition) {
	schema := d.Spec.Versions[0].Schema.OpenAPIV3Schema
	spec := schema.Properties["spec"]
	delete(spec.Properties, "initProvider")
	for i := range spec.XValidations {
		v := &spec.XValidations[i]
		v.Rule = regexp.MustCompile(` \|\| self\.\?initProvider[^|]*hasValue\(\)`).ReplaceAllString(v.Rule, "")
		v.Message = strings.Replace(v.Message, ", there or in spec.initProvider", "", 1)
	}
	schema.Properties["spec"] = spec
}

// blunt removes texts for people, but for the subject of a rule's message.
func blunt(s *apiextensionsv1.JSONSchemaProps) {
	s.Description = ""
	for i := range s.XValidations {
		s.XValidations[i].Message, _, _ = strings.Cut(s.XValidations[i].Message, ":")
	}
	for name, p := range s.Properties {
		blunt(&p)
		s.Properties[name] = p
	}
	if s.Items != nil {
		blunt(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		blunt(s.AdditionalProperties.Schema)
	}
}

// Every method that was written by hand is generated, with the same parameters and results.
func TestMethodsAsByHand(t *testing.T) {
	t.Parallel()
	want, got := methods(t, byHand), methods(t, generated)
	if len(want) < 100 {
		t.Fatalf("only %d methods by hand", len(want))
	}
	for _, method := range slices.Sorted(maps.Keys(want)) {
		if got[method] != want[method] {
			t.Errorf("%s%s: generated is %q (T10)", method, want[method], got[method])
		}
	}
}

// methods returns the signatures of all methods below a folder, by package, type and name.
func methods(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			pkg, err := filepath.Rel(root, filepath.Dir(name))
			if err != nil {
				return err
			}
			all[pkg+" "+types.ExprString(f.Recv.List[0].Type)+"."+f.Name.Name] = signature(f.Type)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// signature is a type without the names of parameters.
func signature(f *ast.FuncType) string {
	var parts []string
	for _, list := range []*ast.FieldList{f.Params, f.Results} {
		if list == nil {
			continue
		}
		for _, field := range list.List {
			parts = append(parts, types.ExprString(field.Type))
		}
		parts = append(parts, ";")
	}
	return strings.Join(parts, " ")
}
