// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/codegen"
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
			"crds/network.cloud.m.example.org_groups.yaml", "crds/network.cloud.m.example.org_networks.yaml", "crds/zz_generated.crds.go",
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
