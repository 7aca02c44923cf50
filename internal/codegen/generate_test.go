// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/codegen"
	"github.com/bowline-dev/bowline/internal/codegen/lint"
	"github.com/bowline-dev/bowline/internal/codegen/model"
)

// The generated files in the repository are the golden ones. kinds_test.go and the provider import them, so they compile. To
// regenerate them, run in this folder:
//
//	go run ./cmd ./testdata/cloud/apis ../../providers/fcp/apis
func expectGolden(t *testing.T, out *codegen.Output) {
	t.Helper()
	differ, err := out.Differences()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range differ {
		t.Errorf("%s is not up to date: regenerate it, and check the difference", name)
	}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	t.Run("a package that is partly written by hand (T10, T14)", func(t *testing.T) {
		t.Parallel()
		expectGolden(t, generate(t, "../../providers/fcp/apis"))
	})
}

func generate(t testing.TB, dir string) *codegen.Output {
	t.Helper()
	out, err := codegen.Generate(t.Context(), ".", dir+"/...")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGeneratedFiles(t *testing.T) {
	t.Parallel()
	first := generate(t, "testdata/cloud/apis")
	t.Run("references, rules and methods by hand (T10, T14)", func(t *testing.T) {
		t.Parallel()
		expectGolden(t, first)
	})
	t.Run("T25", func(t *testing.T) {
		t.Parallel()
		testCheck(t, inFolder(t, first))
	})
	t.Run("again the same (T14)", func(t *testing.T) {
		t.Parallel()
		if diff := cmp.Diff(first.Files, generate(t, "testdata/cloud/apis").Files); diff != "" {
			t.Errorf("-first +second:\n%s", diff)
		}
	})
	t.Run("marked as generated, with the licence (T14)", func(t *testing.T) {
		t.Parallel()
		for name, text := range first.Files {
			if !bytes.Contains(text, []byte("DO NOT EDIT.\n")) {
				t.Errorf("%s is not marked as generated", name)
			}
			if filepath.Ext(name) == ".go" && !bytes.Contains(text, []byte("// SPDX-License-Identifier: Apache-2.0\n\n")) {
				t.Errorf("%s has no licence", name)
			}
		}
	})
	t.Run("each package has its files (T10)", func(t *testing.T) {
		t.Parallel()
		var got []string
		for name := range first.Files {
			if strings.Contains(name, "namespaced/compute/") || strings.Contains(name, "/crds/") {
				got = append(got, strings.TrimPrefix(name, "testdata/cloud/apis/"))
			}
		}
		slices.Sort(got)
		want := []string{
			"crds/claims.cloud.example.org_machineclaims.yaml",
			"crds/cloud.example.org_providerconfigs.yaml", "crds/cloud.m.example.org_clusterproviderconfigs.yaml",
			"crds/cloud.m.example.org_providerconfigs.yaml",
			"crds/compute.cloud.example.org_machineclasses.yaml", "crds/compute.cloud.example.org_machines.yaml",
			"crds/compute.cloud.m.example.org_machines.yaml", "crds/network.cloud.example.org_gatewayclasses.yaml",
			"crds/network.cloud.example.org_gateways.yaml", "crds/network.cloud.example.org_groups.yaml",
			"crds/network.cloud.example.org_networks.yaml", "crds/network.cloud.m.example.org_gateways.yaml",
			"crds/network.cloud.m.example.org_groups.yaml", "crds/network.cloud.m.example.org_networks.yaml", "crds/protection.yaml", "crds/zz_generated.crds.go",
			"crds/zz_generated.crds.pb.gz",
			"namespaced/compute/v1alpha1/zz_generated.accessors.go", "namespaced/compute/v1alpha1/zz_generated.deepcopy.go",
			"namespaced/compute/v1alpha1/zz_generated.doc.go", "namespaced/compute/v1alpha1/zz_generated.register.go",
			"namespaced/compute/v1alpha1/zz_generated.resolvers.go", "namespaced/compute/v1alpha1/zz_generated.types.go",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// inFolder writes generated files into a temporary folder.
func inFolder(t *testing.T, of *codegen.Output) *codegen.Output {
	t.Helper()
	out := &codegen.Output{Base: t.TempDir(), Files: maps.Clone(of.Files)}
	if _, err := out.Write(); err != nil {
		t.Fatal(err)
	}
	return out
}

func testCheck(t *testing.T, out *codegen.Output) {
	t.Helper()
	wantDifferent := func(t *testing.T, want ...string) {
		t.Helper()
		got, err := out.Differences()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	}
	t.Run("files that were just written are up to date (T25)", func(t *testing.T) { wantDifferent(t) })
	t.Run("every line counts (T25)", func(t *testing.T) {
		for _, name := range slices.Sorted(maps.Keys(out.Files)) {
			at := filepath.Join(out.Base, name)
			lines := bytes.SplitAfter(out.Files[name], []byte("\n"))
			for i := range lines[:len(lines)-1] {
				if i > 5 && i%41 != 0 && i != len(lines)-2 {
					continue // Only lines of the header, the last one, and some others.
				}
				without := bytes.Join(slices.Delete(slices.Clone(lines), i, i+1), nil)
				if err := os.WriteFile(at, without, 0o600); err != nil {
					t.Fatal(err)
				}
				wantDifferent(t, name)
			}
			if err := os.WriteFile(at, out.Files[name], 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("a file that is missing, and one that is stale (T25)", func(t *testing.T) {
		const missing, stale = "testdata/cloud/apis/crds/zz_generated.crds.go", "testdata/cloud/apis/zz_generated.old.go"
		if err := os.Rename(filepath.Join(out.Base, missing), filepath.Join(out.Base, stale)); err != nil {
			t.Fatal(err)
		}
		out.Files[stale] = nil
		wantDifferent(t, missing, stale)
		if _, err := out.Write(); err != nil {
			t.Fatal(err)
		}
		wantDifferent(t)
		if _, err := os.Stat(filepath.Join(out.Base, stale)); !os.IsNotExist(err) {
			t.Errorf("%s still exists: %v", stale, err)
		}
	})
}

func BenchmarkGenerate(b *testing.B) {
	definitions := 0
	for b.Loop() {
		definitions = 0
		for _, dir := range []string{"testdata/cloud/apis", "../../providers/fcp/apis"} {
			for name := range generate(b, dir).Files {
				if filepath.Ext(name) == ".yaml" {
					definitions++
				}
			}
		}
	}
	b.ReportMetric(float64(definitions), "kinds")
}

func TestCommand(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		folders []string
		want    string // in the error; empty if there is none
	}{
		"check of what is up to date (T25)":              {[]string{"./testdata/cloud/apis/..."}, ""},
		"the dots may be left out (T25)":                 {[]string{"testdata/cloud/apis"}, ""},
		"no folder":                                      {nil, "name the folder of the API types"},
		"a folder that contains more":                    {[]string{"testdata/cloud"}, "use the folder testdata/cloud/apis"},
		"a missing folder":                               {[]string{"./apis/..."}, "no such file or directory"},
		"problems are reported (O23)":                    {[]string{"testdata/wrong/apis"}, "apis/v1/thing.go:12:2: documented: Size has no comment"},
		"problems of kubebuilder's markers are reported": {[]string{"testdata/mistaken/apis"}, "testdata/mistaken/apis/v1/thing.go:12:2: expected integer"},
		"definitions that no API server accepts (N86)":   {[]string{"testdata/refused/apis"}, "things.things.example.org: an API server would refuse it: [spec.validation.openAPIV3Schema.properties[spec]"},
		"versions that would lose fields (N89)":          {[]string{"testdata/versions/apis"}, "version v2 has field .spec.forProvider.colour, and version v1 does not"},
		"check of what is not written (T25)":             {[]string{"testdata/unwritten/apis"}, "not up to date: run bowline generate without --check"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var output bytes.Buffer
			err := codegen.Command(t.Context(), &output, ".", true, tc.folders...)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			names := strings.Contains(output.String(), "testdata/unwritten/apis/v1/zz_generated.types.go\n")
			if strings.Contains(tc.want, "not up to date") && !names {
				t.Errorf("printed %q", output.String())
			}
		})
	}
}

func TestBrokenSource(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	err := os.CopyFS(base, fstest.MapFS{
		"go.mod":        {Data: []byte("module example.org/things\n")},
		"apis/thing.go": {Data: []byte("package apis\n\ntype Thing = ;\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = codegen.Generate(t.Context(), base, filepath.Join(base, "apis"))
	if want := "apis/thing.go:3:14: expected type"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// Types of a package that is missing are no mistakes of the author.
func TestPackageThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	if err := os.CopyFS(filepath.Join(base, "apis"), os.DirFS("testdata/unwritten/apis")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "go.mod"), []byte("module example.org/things\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := codegen.Generate(t.Context(), base, filepath.Join(base, "apis"))
	if want := "package k8s.io/apimachinery/pkg/apis/meta/v1 cannot be loaded"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

func TestGoGenerate(t *testing.T) {
	t.Parallel()
	t.Run("go generate runs the generator, which leaves what is up to date (T11)", func(t *testing.T) {
		t.Parallel()
		generate := exec.CommandContext(t.Context(), "go", "generate", "-x", "./...")
		generate.Dir = "testdata/cloud/apis"
		got, err := generate.CombinedOutput()
		if want := "go run github.com/bowline-dev/bowline/internal/codegen/cmd .\n"; err != nil || string(got) != want {
			t.Errorf("%v, got %q, want %q", err, got, want)
		}
	})
}

func TestTargets(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"generate":   ".ci/generate",
		"manifests":  ".ci/generate manifests",
		"reviewable": ".ci/generate\n.ci/verify\n.ci/ensure-servers prometheus\ncd deploy/image && go test ./...\ncd test/terraform/providers && go test ./...\ngo test -vet=off -timeout 25m ./...\necho \"Not run here: pods of a real node, which need root (make test-kubernetes-node).\"",
	} {
		t.Run("make "+target+" (T20, T25)", func(t *testing.T) {
			t.Parallel()
			got, err := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", "-C", "../..", target).CombinedOutput()
			if strings.TrimSpace(string(got)) != want || err != nil {
				t.Errorf("%v, got %q, want %q", err, got, want)
			}
		})
	}
}

func ExampleGenerate() {
	out, err := codegen.Generate(context.Background(), ".", "testdata/cloud/apis")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	differ, err := out.Differences()
	fmt.Println(len(differ), err)
	// Output: 0 <nil>
}

// The rules of package lint hold for every kind that is declared in this repository, and its packages are laid out alike.
func TestRepository(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"apis", "providers/fcp/apis", "providers/sql/apis", "examples/notes/apis"} {
		api, err := model.Load("../..", dir)
		if err != nil || len(api.Packages) == 0 {
			t.Fatalf("%d packages in %s: %v", len(api.Packages), dir, err)
		}
		t.Run("markers, links, scopes, specs, statuses, settings and observations of kinds in "+dir+
			" (K7 K11 K31 K32 K34 K72 K74 P5 P23 P34 P40 P41 P43 P46 P51 P60 P63 P71 P90 P91)", func(t *testing.T) {
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
