// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// class returns the source of a class of Thing, with or without a template of its own.
func class(marker, template string) string {
	source := "package v1\n" + imports + marker + `
type ThingClass struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	SpecTemplate ThingClassSpecTemplate
}
`
	if template != "" {
		source += "type ThingClassSpecTemplate struct {\n" + template + "\n}\n"
	}
	return source
}

func TestClasses(t *testing.T) {
	t.Parallel()
	const scoped = "// +bowline:scopes=Cluster\n"
	whole := "xpv1.ClassSpecTemplate\nForProvider ThingParameters"
	byHand := func(class string) map[string]string {
		return map[string]string{"apis/v1/thing.go": kind(scoped, "", ""), "apis/v1/class.go": class}
	}
	one := func(marker string) map[string]string {
		return map[string]string{"apis/v1/thing.go": kind(marker, "", "")}
	}
	for name, tc := range map[string]struct {
		files  map[string]string
		claims []string // nil: there is no class
		source bool     // it follows from the managed kind
	}{
		"ClassSpecTemplate (T12)":                    {byHand(class("// +bowline:claims=A.example.org", whole)), []string{"A.example.org"}, false},
		"specTemplate, which is to be written (T12)": {byHand(class("// +bowline:claims=A.example.org", "")), []string{"A.example.org"}, false},
		"a marker of the managed kind (K29)": {
			one(scoped + "// +bowline:class=A.example.org, B.example.org"), []string{"A.example.org", "B.example.org"}, true},
		"of both scopes (N28)": {
			one("// +bowline:scopes=Cluster,Namespaced\n// +bowline:class=A.example.org"), []string{"A.example.org"}, true},
		"not of a namespaced kind (N28)": {one("// +bowline:scopes=Namespaced\n// +bowline:class=A.example.org"), nil, false},
		"a class by hand, for the claims that the managed kind names (T13)": {
			map[string]string{"apis/v1/thing.go": kind(scoped+"// +bowline:class=A.example.org", "", ""), "apis/v1/class.go": class("", whole)},
			[]string{"A.example.org"}, false},
		"no class": {one(scoped), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := load(t, tc.files)
			pkg := api.Package("example.org/things/apis/v1")
			k := pkg.Kind("ThingClass")
			if k == nil || tc.claims == nil {
				if (k == nil) != (tc.claims == nil) {
					t.Errorf("got %+v", k)
				}
				return
			}
			if diff := cmp.Diff(tc.claims, k.ClaimKinds()); diff != "" {
				t.Errorf("claim kinds -want +got:\n%s", diff)
			}
			own := model.Ref{Import: pkg.Path, Name: "ThingParameters"}
			if k.Role != model.Class || k.Scope != model.Cluster || k.Parameters != own || k.Spec.Name != "ThingClassSpecTemplate" {
				t.Errorf("got %+v", k)
			}
			if k.ManagedKind() != pkg.Kind("Thing") || (k.Source != nil) != tc.source {
				t.Errorf("managed kind %v, source %v", k.ManagedKind(), k.Source)
			}
			if second := api.Package("example.org/things/apis/namespaced/v1"); second != nil && second.Kind("ThingClass") != nil {
				t.Error("the namespaced kind has a class")
			}
		})
	}
}
