// Copyright The Bowline Authors.
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/bowline-dev/bowline/internal/codegen/lint"
	"github.com/bowline-dev/bowline/internal/codegen/model"
)

var update = flag.Bool("update", false, "write what is found in testdata instead of comparing it")

const doc = `// Package v1 holds kinds.
//
// +kubebuilder:object:generate=true
// +groupName=things.example.org
package v1
`

const config = `package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	xpv1 "github.com/bowline-dev/bowline/apis/common/v1"
)

// A ProviderConfigSpec has the settings for connections to things.
type ProviderConfigSpec struct {
	xpv1.ProviderSpec ` + "`json:\",inline\"`" + `
}

// A ProviderConfig has the settings for connections to things.
//
// +kubebuilder:object:root=true
// +bowline:scopes=Cluster,Namespaced
type ProviderConfig struct {
	metav1.TypeMeta   ` + "`json:\",inline\"`" + `
	metav1.ObjectMeta ` + "`json:\"metadata,omitempty\"`" + `

	Spec   ProviderConfigSpec        ` + "`json:\"spec\"`" + `
	Status xpv1.ProviderConfigStatus ` + "`json:\"status,omitempty\"`" + `
}
`

// load reads an API of one example. An example with a package comment contains doc.go and configurations itself.
func load(t *testing.T, example []byte) *model.API {
	t.Helper()
	base := t.TempDir()
	files := fstest.MapFS{"go.mod": {Data: []byte("module example.org/things\n")}, "apis/v1/thing.go": {Data: example}}
	if !strings.HasPrefix(string(example), "// Package ") {
		files["apis/v1/doc.go"], files["apis/v1/config.go"] = &fstest.MapFile{Data: []byte(doc)}, &fstest.MapFile{Data: []byte(config)}
	}
	if err := os.CopyFS(base, files); err != nil {
		t.Fatal(err)
	}
	api, err := model.Load(base, "apis")
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// Each rule has an example that breaks it, RULE.go, and the expected messages, RULE.txt.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, rule := range lint.Rules() {
		t.Run(rule.Name+": "+rule.Requirement+" (O22, O23)", func(t *testing.T) {
			t.Parallel()
			example, err := os.ReadFile(filepath.Join("testdata", rule.Name+".go"))
			if err != nil {
				t.Fatal(err)
			}
			found := lint.Check(load(t, example))
			if found == nil {
				t.Fatal("nothing was found")
			}
			got := found.Error() + "\n"
			for line := range strings.Lines(got) {
				if !strings.Contains(line, ": "+rule.Name+": ") {
					t.Errorf("the example breaks another rule, too: %s", line)
				}
			}
			golden := filepath.Join("testdata", rule.Name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if diff := cmp.Diff(string(want), got); diff != "" || err != nil {
				t.Errorf("%v, -want +got:\n%s", err, diff)
			}
		})
	}
}

func TestExamples(t *testing.T) {
	t.Parallel()
	t.Run("no example without a rule", func(t *testing.T) {
		t.Parallel()
		files, err := filepath.Glob("testdata/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".go")
			if !slices.ContainsFunc(lint.Rules(), func(r lint.Rule) bool { return r.Name == name }) && name != "good" {
				t.Errorf("%s is for no rule", file)
			}
		}
	})
	t.Run("no problem in valid types, or where the author states a reason (O23)", func(t *testing.T) {
		t.Parallel()
		example, err := os.ReadFile("testdata/good.go")
		if err != nil {
			t.Fatal(err)
		}
		if err := lint.Check(load(t, example)); err != nil {
			t.Error(err)
		}
	})
}

func ExampleRules() {
	for _, rule := range lint.Rules() {
		if strings.HasPrefix(rule.Name, "secret-") {
			fmt.Println(rule.Name+":", rule.Requirement)
		}
	}
	// Output:
	// secret-name: the name of a field that selects a secret ends with SecretRef (P60)
	// secret-comment: the comment of an optional secret describes the value without it (P63)
}
