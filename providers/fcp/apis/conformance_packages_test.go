// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/bowline-dev/bowline/controlplane/controlplanetest"
	cachev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/cache/v1alpha3"
	databasev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/database/v1alpha3"
	computev1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/compute/v1alpha3"
	namespacednetworkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/network/v1alpha3"
	namespacedv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/namespaced/v1alpha3"
	networkv1alpha3 "github.com/bowline-dev/bowline/providers/fcp/apis/network/v1alpha3"
	"github.com/bowline-dev/bowline/providers/fcp/apis/v1alpha3"
)

// groups are what every package of kinds exports: Group and GroupVersion.
func groups() map[string]schema.GroupVersion {
	return map[string]schema.GroupVersion{
		v1alpha3.Group:                  v1alpha3.GroupVersion,
		cachev1alpha3.Group:             cachev1alpha3.GroupVersion,
		databasev1alpha3.Group:          databasev1alpha3.GroupVersion,
		networkv1alpha3.Group:           networkv1alpha3.GroupVersion,
		namespacedv1alpha3.Group:        namespacedv1alpha3.GroupVersion,
		namespacednetworkv1alpha3.Group: namespacednetworkv1alpha3.GroupVersion,
		computev1alpha3.Group:           computev1alpha3.GroupVersion,
	}
}

// Rules for the packages that hold kinds.
func TestPackages(t *testing.T) {
	t.Parallel()
	s := newScheme(t)
	kinds := map[string][]rootKind{} // by package
	for _, k := range rootKinds(t) {
		kinds[k.typ().PkgPath()] = append(kinds[k.typ().PkgPath()], k)
	}
	if len(kinds) != len(groups()) {
		t.Errorf("%d packages of kinds, and groups() has %d", len(kinds), len(groups()))
	}
	for path, in := range kinds {
		short := strings.TrimPrefix(path, module+"providers/fcp/apis/")
		files := sourceOf(t, filepath.Join(root, strings.TrimPrefix(path, module)))
		t.Run("A71 Group and GroupVersion "+short, func(t *testing.T) {
			t.Parallel()
			gv := in[0].gvk.GroupVersion()
			if got := groups()[gv.Group]; got != gv || gv.Version != filepath.Base(path) || !s.IsVersionRegistered(gv) {
				t.Errorf("GroupVersion %s, the kinds are of %s", got, gv)
			}
			if doc := docFile(files); !has(files[doc].Doc.Text(), "+groupName="+gv.Group) {
				t.Errorf("%s names another group", doc)
			}
		})
		t.Run("T30 T32 doc.go "+short, func(t *testing.T) {
			t.Parallel()
			checkDoc(t, filepath.Base(path), files)
		})
		t.Run("T31 A70 kind metadata is in register.go "+short, func(t *testing.T) {
			t.Parallel()
			for _, k := range in {
				for _, suffix := range []string{"Kind", "KindAPIVersion", "GroupVersionKind"} {
					name := k.gvk.Kind + suffix
					if files["zz_generated.register.go"].Scope.Lookup(name) == nil {
						t.Errorf("zz_generated.register.go does not declare %s", name)
					}
				}
			}
		})
	}
}

// docFile is the name of the file with the text of the package: that of a second scope is generated whole.
func docFile(files map[string]*ast.File) string {
	if _, written := files["doc.go"]; written {
		return "doc.go"
	}
	return "zz_generated.doc.go"
}

// checkDoc wants the text of the package, and the markers of the whole package, in doc.go and nowhere else.
func checkDoc(t *testing.T, name string, files map[string]*ast.File) {
	t.Helper()
	doc := docFile(files)
	for file, source := range files {
		if file != doc && source.Doc != nil {
			t.Errorf("%s has a text of the package", file)
		}
		for _, group := range source.Comments {
			for _, marker := range []string{"+groupName=", "+kubebuilder:object:generate=true"} {
				if found, wanted := has(group.Text(), marker), file == doc && group == source.Doc; found != wanted {
					t.Errorf("%s: marker %s is there: %t", file, marker, found)
				}
			}
		}
	}
	if text := files[doc].Doc.Text(); !strings.HasPrefix(text, "Package "+name+" ") {
		t.Errorf("%s begins with %q", doc, text)
	}
}

// Tests are written with the standard library and run against a real API server: nobody imports a framework or a fake.
func TestTests(t *testing.T) {
	t.Parallel()
	var imports []string
	tests := 0
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		tests++
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, name+" in "+path)
		}
		return nil
	})
	if err != nil || tests == 0 {
		t.Fatalf("%d tests, %v", tests, err)
	}
	t.Run("N19 a real server", func(t *testing.T) {
		t.Parallel()
		d, err := discovery.NewDiscoveryClientForConfig(controlplanetest.Config(t))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := d.ServerVersion(); err != nil || !strings.HasPrefix(v.GitVersion, "v1.") {
			t.Errorf("version %v, %v", v, err)
		}
	})
	for rule, forbidden := range map[string][]string{
		"T60 no framework": {"github.com/onsi/", "github.com/stretchr/testify", "github.com/smartystreets/", "gopkg.in/check"},
		"N19 no fake client": {"sigs.k8s.io/controller-runtime/pkg/client/fake", "sigs.k8s.io/controller-runtime/pkg/envtest",
			"k8s.io/client-go/kubernetes/fake", "k8s.io/client-go/dynamic/fake", "k8s.io/client-go/testing"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			for _, i := range imports {
				if slices.ContainsFunc(forbidden, func(prefix string) bool { return strings.HasPrefix(i, prefix) }) {
					t.Error(i)
				}
			}
		})
	}
}

// Copies of all types share nothing with what they were made from.
func TestDeepCopy(t *testing.T) {
	t.Parallel()
	for gvk, typ := range newScheme(t).AllKnownTypes() {
		if !strings.HasPrefix(typ.PkgPath(), module) {
			continue
		}
		t.Run("T23 "+gvk.Kind+" of "+gvk.Group, func(t *testing.T) {
			t.Parallel()
			o := reflect.New(typ)
			fill(o.Elem())
			copied := o.Interface().(runtime.Object).DeepCopyObject()
			if diff := cmp.Diff(o.Interface(), copied); diff != "" {
				t.Fatalf("-original +copy:\n%s", diff)
			}
			for _, place := range shared(gvk.Kind, o, reflect.ValueOf(copied)) {
				t.Errorf("%s is shared", place)
			}
		})
	}
}

// fill sets every exported field below to something.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				fill(f)
			}
		}
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		if v.CanInt() {
			v.SetInt(1)
		}
	}
}

// shared returns the places where two values of the same shape have memory in common.
func shared(at string, a, b reflect.Value) []string {
	var places []string
	switch a.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		if a.IsNil() {
			return nil
		}
		if a.Pointer() == b.Pointer() {
			return []string{at}
		}
	}
	switch a.Kind() {
	case reflect.Pointer:
		return shared(at, a.Elem(), b.Elem())
	case reflect.Slice:
		for i := range a.Len() {
			places = append(places, shared(fmt.Sprintf("%s[%d]", at, i), a.Index(i), b.Index(i))...)
		}
	case reflect.Struct:
		for f := range a.Type().Fields() {
			if f.IsExported() {
				places = append(places, shared(at+"."+f.Name, a.FieldByIndex(f.Index), b.FieldByIndex(f.Index))...)
			}
		}
	}
	return places
}
