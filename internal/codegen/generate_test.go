// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"flag"
	"testing"

	"github.com/bowline-dev/bowline/internal/codegen"
)

var update = flag.Bool("update", false, "write what is generated below testdata instead of comparing it")

// Every folder below testdata that has an API holds what is generated for it: these files are the golden ones. That they
// compile is the compiler's to say: kinds_test.go imports them.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{
		"T10 T12 T14 both scopes, references and rules": "testdata/cloud/apis",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := generate(t, dir)
			if *update {
				if _, err := out.Write(); err != nil {
					t.Fatal(err)
				}
			}
			differ, err := out.Differences()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range differ {
				t.Errorf("%s is not what is generated now: look at the difference after go test ./internal/codegen -update", name)
			}
		})
	}
}

func generate(t testing.TB, dir string) *codegen.Output {
	t.Helper()
	out, err := codegen.Generate(t.Context(), ".", dir+"/...")
	if err != nil {
		t.Fatal(err)
	}
	return out
}
