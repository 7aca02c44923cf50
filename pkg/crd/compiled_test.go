// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package crd_test

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/bowline-dev/bowline/internal/testkit/shop/crds"
	"github.com/bowline-dev/bowline/pkg/crd"
)

// TestCompiled_N86 changes copies of compiled definitions as authors may.
func TestCompiled_N86(t *testing.T) {
	const name = "shop.test.bowline.dev_items.yaml"
	for title, tc := range map[string]struct {
		change    func(fstest.MapFS)
		singular  string // of the items
		prepared  int
		wantError string
	}{
		"as generated":            {func(fstest.MapFS) {}, "item", 14, ""},
		"without the compiled":    {func(files fstest.MapFS) { delete(files, crd.Compiled) }, "item", 0, ""},
		"edited afterwards":       {func(files fstest.MapFS) { replace(files[name], "singular: item", "singular: piece") }, "piece", 0, ""},
		"a file added later":      {func(files fstest.MapFS) { files["more.yaml"] = &fstest.MapFile{Data: []byte("# none")} }, "item", 0, ""},
		"a file removed later":    {func(files fstest.MapFS) { delete(files, "protection.yaml") }, "item", 0, ""},
		"a file renamed later":    {func(files fstest.MapFS) { files["a.yaml"] = files[name]; delete(files, name) }, "item", 0, ""},
		"the compiled is damaged": {func(files fstest.MapFS) { files[crd.Compiled].Data = files[crd.Compiled].Data[:900] }, "", 0, "reading " + crd.Compiled},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			files := copyOf(t, crds.FS)
			tc.change(files)
			definitions, err := crd.Load(files)
			prepared, prepareErr := crd.Prepared(files)
			if tc.wantError != "" {
				if err == nil || prepareErr == nil || !strings.Contains(err.Error(), tc.wantError) {
					t.Errorf("got %v and %v, want %q", err, prepareErr, tc.wantError)
				}
				return
			}
			if err != nil || prepareErr != nil || len(prepared) != tc.prepared {
				t.Fatalf("prepared %d, want %d: %v, %v", len(prepared), tc.prepared, err, prepareErr)
			}
			for _, d := range definitions {
				if d.Name == "items.shop.test.bowline.dev" && d.Spec.Names.Singular != tc.singular || d.ManagedFields != nil {
					t.Errorf("%s: singular %s, want %s; managed fields %v", d.Name, d.Spec.Names.Singular, tc.singular, d.ManagedFields)
				}
			}
		})
	}
}

// TestCompileIsStable wants no difference between runs of bowline generate.
func TestCompileIsStable(t *testing.T) {
	fields := func(*unstructured.Unstructured) (*metav1.FieldsV1, error) {
		return metav1.NewFieldsV1("{}"), nil
	}
	first, err := crd.Compile(crds.FS, "a test", fields)
	second, again := crd.Compile(crds.FS, "a test", fields)
	if err != nil || again != nil || !cmp.Equal(first, second) {
		t.Errorf("two results differ: %v, %v", err, again)
	}
}

func copyOf(t *testing.T, from fs.FS) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	names, err := fs.Glob(from, "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(from, name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: data}
	}
	return files
}

func replace(file *fstest.MapFile, old, with string) {
	file.Data = []byte(strings.Replace(string(file.Data), old, with, 1))
}
