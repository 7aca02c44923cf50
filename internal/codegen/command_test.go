// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bowline-dev/bowline/internal/codegen"
)

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
		"reviewable": ".ci/generate\n.ci/verify\n.ci/ensure-servers\ngo test -timeout 25m ./...",
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
